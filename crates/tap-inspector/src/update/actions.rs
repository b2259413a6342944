//! What a key or a name does in a session that is open.

use crate::detail::Copied;
use crate::effect::{Effect, RowsPart};
use crate::keymap::Action;
use crate::model::{Form, Inspector, Overlay, Pane, View};
use crate::open::Point;
use crate::prompt::Prompt;

use super::navigate::Sought;

impl Inspector {
    pub(super) fn act_in_session(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let view = self.view;
        let in_list = view == View::Timeline && self.open.as_ref().is_some_and(|open| open.pane == Pane::List);
        // A call is unfolded first, and its message opened when there is nothing to unfold.
        if in_list && (action == Action::Right && self.unfold(effects) || action == Action::Left && self.fold()) {
            return;
        }
        let Some(open) = &mut self.open else {
            return;
        };
        match action {
            Action::First | Action::Last if view == View::Timeline && open.pane == Pane::List => {
                self.go_to_either_end(action == Action::Last, effects);
            }
            Action::First => self.move_by(isize::MIN / 2),
            Action::Last => self.move_by(isize::MAX / 2),
            Action::NextPane | Action::Open | Action::Right if view == View::Timeline && open.pane == Pane::List => {
                open.pane = Pane::Detail;
            }
            Action::NextPane if view == View::Timeline => open.pane = Pane::List,
            Action::Open if view == View::Findings => {
                let at = open.findings.get(open.findings.cursor).map(|finding| finding.at);
                if let Some(at) = at {
                    self.jump(at, effects);
                }
            }
            Action::Open if view == View::Timeline && open.detail.as_ref().is_some_and(|it| it.goes_to().is_some()) => {
                if let Some(target) = open.detail.as_ref().and_then(|detail| detail.goes_to()) {
                    self.go_to_target(target, effects);
                }
            }
            Action::Open | Action::Right | Action::Left if view == View::Timeline => {
                if let Some(detail) = &mut open.detail {
                    let stays = detail.fold(action);
                    if !stays {
                        open.pane = Pane::List;
                    }
                }
            }
            Action::Zoom => open.zoomed = !open.zoomed,
            Action::Follow if !open.live => self.say("the session is over; G goes to its end", false),
            Action::Follow => {
                open.rows.follow = !open.rows.follow;
                let follow = open.rows.follow;
                if follow {
                    self.list_anew(RowsPart::Last, effects);
                }
                self.say(if follow { "follows" } else { "stays here" }, false);
            }
            Action::CallsOrFrames => {
                open.calls = !open.calls;
                let calls = open.calls;
                let at = open.at();
                if let Some(at) = at {
                    open.point = Some(Point { at, row: None });
                    open.rows.want(at);
                }
                self.list_anew(at.map_or(RowsPart::From(1), |at| RowsPart::Around(at.seq)), effects);
                self.calls = calls;
                self.say(if calls { "a row a call" } else { "a row a message" }, false);
            }
            Action::FollowCall => {
                let filter = open.filter.as_ref().map(|filter| filter.text().to_owned());
                match open.call_filter() {
                    None => self.say("this belongs to no call", false),
                    Some(text) if filter.as_ref() == Some(&text) => self.set_filter("", effects),
                    Some(text) => self.set_filter(&text, effects),
                }
            }
            Action::NextProblem => self.seek(Sought::Problem, true, effects),
            Action::PreviousProblem => self.seek(Sought::Problem, false, effects),
            Action::StepForward => self.step(true, effects),
            Action::StepBack => self.step(false, effects),
            Action::NextCall => self.seek(Sought::Call, true, effects),
            Action::PreviousCall => self.seek(Sought::Call, false, effects),
            Action::NextError => self.seek(Sought::Error, true, effects),
            Action::PreviousError => self.seek(Sought::Error, false, effects),
            Action::NextSame => self.seek(Sought::Same, true, effects),
            Action::PreviousSame => self.seek(Sought::Same, false, effects),
            Action::NextFinding => self.seek_finding(true, effects),
            Action::PreviousFinding => self.seek_finding(false, effects),
            Action::Open if view == View::State => open.state.open_list(),
            Action::OtherHalf => {
                let pair = open.rows.current().and_then(|row| row.row.pair);
                match pair {
                    Some(_) if open.calls => {
                        // In a list of calls both halves are one row.
                        if open.pane == Pane::Detail
                            && let Some(detail) = &mut open.detail
                        {
                            detail.other_half();
                        }
                        open.pane = Pane::Detail;
                    }
                    Some(at) => self.jump(at, effects),
                    None => self.say("it has no other half", false),
                }
            }
            Action::JumpBack => self.jump_back(effects),
            Action::JumpForward => self.jump_forward(effects),
            Action::JumpTo => self.overlay = Some(Overlay::Jump(Prompt::default())),
            Action::Mark | Action::Bookmark | Action::Note => self.act_on_mark(action, effects),
            Action::NextMark => self.seek_mark(true, effects),
            Action::PreviousMark => self.seek_mark(false, effects),
            Action::Form => {
                if let Some(detail) = &mut open.detail {
                    detail.next_form();
                }
            }
            Action::Schema | Action::Call | Action::Explain => {
                open.pane = Pane::Detail;
                if let Some(detail) = &mut open.detail {
                    detail.show(match action {
                        Action::Schema => Form::Schema,
                        Action::Call => Form::Call,
                        _ => Form::Explain,
                    });
                }
                self.view = View::Timeline;
            }
            Action::Find => self.overlay = Some(Overlay::Find(Prompt::default())),
            Action::NextFound | Action::PreviousFound => self.find_on(action == Action::NextFound, effects),
            Action::OpenStrings => {
                open.opens_strings = !open.opens_strings;
                let opens_strings = open.opens_strings;
                if let Some(detail) = &mut open.detail {
                    detail.open_strings(opens_strings);
                }
                let text = if opens_strings { "JSON inside strings is opened up" } else { "strings as they are" };
                self.say(text, false);
            }
            Action::CopyReference => {
                if let Some(at) = open.at() {
                    let reference = format!("{}:{}", open.session.reference, at.seq);
                    effects.push(Effect::Copy(reference));
                }
            }
            Action::Picture => self.show_picture(effects),
            Action::CopyMenu => self.overlay = Some(Overlay::Copy(0)),
            Action::CopyMessage => self.copy(Copied::Message, effects),
            Action::CopyAsCall | Action::WriteFile | Action::WriteValue | Action::Pager | Action::Editor => {
                let effect = open.detail.as_ref().and_then(|detail| detail.out(action, &open.session.reference));
                match effect {
                    Some(effect) => effects.push(effect),
                    None if action == Action::CopyAsCall => self.say("this is no call of a tool", false),
                    None if action == Action::WriteValue => self.say("no value is under the cursor", false),
                    None => self.say("no message is open", false),
                }
            }
            _ => {}
        }
    }
}
