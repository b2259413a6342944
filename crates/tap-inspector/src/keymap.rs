//! Keys: one table, from which input is read and the help is made.

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everywhere but where text is typed.
    Everywhere,
    /// In anything that has a cursor.
    Moving,
    /// In the list of sessions.
    Sessions,
    /// In a session, in any view that has its messages.
    Session,
    /// Where it is seen what was true.
    State,
    /// Where it is seen who said what to whom.
    Sequence,
    /// Among statistics.
    Stats,
    /// Among what the server offers.
    Tools,
    /// Where two sessions are compared.
    Compare,
    /// Where all sessions are searched.
    Search,
    /// In a message.
    Detail,
}

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is told in KEYMAP, for users")]
pub enum Action {
    Help,
    Palette,
    Filter,
    Back,
    Close,
    Quit,
    Suspend,
    Redraw,
    ViewSessions,
    ViewTimeline,
    ViewSequence,
    ViewState,
    ViewStats,
    ViewFindings,
    ViewTools,
    ViewSearch,
    NextPane,
    Zoom,
    Wider,
    Narrower,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Left,
    Right,
    Open,
    NextProblem,
    PreviousProblem,
    StepForward,
    StepBack,
    NextCall,
    PreviousCall,
    NextError,
    PreviousError,
    NextFinding,
    PreviousFinding,
    NextSame,
    PreviousSame,
    OtherHalf,
    JumpBack,
    JumpForward,
    JumpTo,
    Follow,
    CallsOrFrames,
    Form,
    OpenStrings,
    Schema,
    Call,
    Explain,
    Find,
    NextFound,
    PreviousFound,
    NextHit,
    PreviousHit,
    CopyMenu,
    CopyMessage,
    WriteValue,
    Picture,
    CopyReference,
    CopyAsCall,
    WriteFile,
    Pager,
    Editor,
    Mark,
    Bookmark,
    Note,
    NextMark,
    PreviousMark,
    Reload,
    Sort,
    MarkSession,
    Compare,
    Label,
    Delete,
    Demo,
    ToggleKeys,
    Scale,
    ZoomIn,
    ZoomOut,
    ZoomTo,
    FollowCall,
    GroupBy,
    SortBy,
    ExportFigures,
    ComparePrevious,
    CompareThis,
    NextChange,
    PreviousChange,
    Layout,
    OnlyChanges,
    OpenInB,
    IgnorePath,
    IgnoreNothing,
    OtherOfA,
    OtherOfB,
    CompareAnew,
    ExportReport,
}

/// A row of the table.
#[derive(Debug)]
pub struct Binding {
    /// Where.
    pub scope: Scope,
    /// Any of these keys, by [`Key::name`](crate::Key::name).
    pub keys: &'static [&'static str],
    /// Does this.
    pub action: Action,
    /// What it is called in the palette: words with hyphens.
    pub name: &'static str,
    /// What is said of it in the help.
    pub about: &'static str,
}

const fn bind(
    scope: Scope,
    keys: &'static [&'static str],
    action: Action,
    name: &'static str,
    about: &'static str,
) -> Binding {
    Binding { scope, keys, action, name, about }
}

/// All keys.
pub const KEYMAP: &[Binding] = &[
    bind(Scope::Everywhere, &["?", "f1"], Action::Help, "help", "these keys"),
    bind(Scope::Everywhere, &[":", "ctrl-p"], Action::Palette, "palette", "find something to do by its name"),
    bind(Scope::Everywhere, &["/"], Action::Filter, "filter", "show only what fits a filter"),
    bind(Scope::Everywhere, &["q"], Action::Back, "back", "close, go back; from the first view: the end"),
    bind(Scope::Everywhere, &["esc"], Action::Close, "close", "close, clear, go back; never the end"),
    bind(Scope::Everywhere, &["ctrl-c"], Action::Quit, "quit", "the end"),
    bind(Scope::Everywhere, &["ctrl-z"], Action::Suspend, "suspend", "to the shell for a while; `fg` comes back"),
    bind(Scope::Everywhere, &["ctrl-l"], Action::Redraw, "redraw", "draw everything anew"),
    bind(Scope::Everywhere, &["1"], Action::ViewSessions, "sessions", "the sessions"),
    bind(Scope::Everywhere, &["2"], Action::ViewTimeline, "timeline", "the messages of the session"),
    bind(Scope::Everywhere, &["3"], Action::ViewSequence, "sequence", "who said what to whom, and what ran at once"),
    bind(Scope::Everywhere, &["4"], Action::ViewState, "state", "what was true at the cursor"),
    bind(Scope::Everywhere, &["5"], Action::ViewStats, "stats", "how often, how quick, how large"),
    bind(Scope::Everywhere, &["6"], Action::ViewFindings, "findings", "which rules were broken"),
    bind(Scope::Everywhere, &["8"], Action::ViewTools, "tools", "what the server offers"),
    bind(Scope::Everywhere, &["S"], Action::ViewSearch, "search", "search all sessions"),
    bind(Scope::Everywhere, &["tab", "backtab"], Action::NextPane, "next-pane", "to the other pane"),
    bind(Scope::Everywhere, &["z"], Action::Zoom, "zoom", "this pane alone, or both"),
    bind(Scope::Everywhere, &["ctrl-right", "+"], Action::Wider, "wider", "the list wider"),
    bind(Scope::Everywhere, &["ctrl-left", "-"], Action::Narrower, "narrower", "the list narrower"),
    bind(Scope::Everywhere, &["H"], Action::ToggleKeys, "toggle-keys", "hide or show the line of keys"),
    bind(Scope::Moving, &["j", "down"], Action::Down, "down", "down"),
    bind(Scope::Moving, &["k", "up"], Action::Up, "up", "up"),
    bind(Scope::Moving, &["ctrl-d", "pgdn"], Action::PageDown, "page-down", "a page down"),
    bind(Scope::Moving, &["ctrl-u", "pgup"], Action::PageUp, "page-up", "a page up"),
    bind(Scope::Moving, &["g", "home"], Action::First, "first", "to the beginning"),
    bind(Scope::Moving, &["G", "end"], Action::Last, "last", "to the end"),
    bind(Scope::Moving, &["h", "left"], Action::Left, "left", "fold, or to the list"),
    bind(Scope::Moving, &["l", "right"], Action::Right, "right", "unfold, or into the message"),
    bind(Scope::Moving, &["enter"], Action::Open, "open", "open what the cursor is on"),
    bind(Scope::Sessions, &["o"], Action::Sort, "sort", "newest, name, calls, errors, longest, largest first"),
    bind(Scope::Sessions, &["m"], Action::MarkSession, "mark-session", "mark it, to compare another one with it"),
    bind(Scope::Sessions, &["D"], Action::Compare, "compare", "compare it with the marked one"),
    bind(Scope::Sessions, &["L"], Action::Label, "label", "a name of yours, `@name` on the command line"),
    bind(Scope::Sessions, &["del"], Action::Delete, "delete", "delete it; asks"),
    bind(Scope::Sessions, &["d"], Action::Demo, "demo", "where there are no sessions: a demonstration"),
    bind(Scope::Sessions, &["ctrl-r", "f5"], Action::Reload, "reload", "look for new sessions"),
    bind(
        Scope::Sessions,
        &[],
        Action::ComparePrevious,
        "compare-with-previous",
        "compare it with the session of the same server before",
    ),
    bind(Scope::Session, &["]"], Action::NextProblem, "next-problem", "to the next error or finding"),
    bind(Scope::Session, &["["], Action::PreviousProblem, "previous-problem", "to the one before"),
    bind(Scope::Session, &["."], Action::StepForward, "step", "to the next message, also where a row is a call"),
    bind(Scope::Session, &[","], Action::StepBack, "step-back", "to the message before"),
    bind(Scope::Session, &[">"], Action::NextCall, "next-call", "to the next call"),
    bind(Scope::Session, &["<"], Action::PreviousCall, "previous-call", "to the call before"),
    bind(Scope::Session, &[")"], Action::NextError, "next-error", "to the next error"),
    bind(Scope::Session, &["("], Action::PreviousError, "previous-error", "to the error before"),
    bind(Scope::Session, &["}"], Action::NextFinding, "next-finding", "to the next broken rule"),
    bind(Scope::Session, &["{"], Action::PreviousFinding, "previous-finding", "to the broken rule before"),
    bind(Scope::Session, &["*"], Action::NextSame, "next-same", "to the next call of the same tool or method"),
    bind(Scope::Session, &["&"], Action::PreviousSame, "previous-same", "to the one before"),
    bind(Scope::Session, &["%"], Action::OtherHalf, "other-half", "from a request to its answer, and back"),
    bind(Scope::Session, &["ctrl-o"], Action::JumpBack, "jump-back", "back to where the cursor jumped from"),
    bind(Scope::Session, &["ctrl-n"], Action::JumpForward, "jump-forward", "forward again"),
    bind(Scope::Session, &["#"], Action::JumpTo, "jump", "to a number, a time (14:02:11, +13.4s)"),
    bind(Scope::Session, &["F"], Action::Follow, "follow", "stay at the end as it grows, or not"),
    bind(Scope::Session, &["v"], Action::CallsOrFrames, "calls-or-frames", "a row a call, or a row a message"),
    bind(Scope::Session, &["m"], Action::Mark, "mark", "mark this message, or not"),
    bind(Scope::Session, &["b"], Action::Bookmark, "bookmark", "give this message a name, `REF:@name`"),
    bind(Scope::Session, &[";"], Action::Note, "note", "write something about this message"),
    bind(Scope::Session, &["'"], Action::NextMark, "next-mark", "to the next mark"),
    bind(Scope::Session, &["f"], Action::FollowCall, "follow-call", "only the call under the cursor, or all again"),
    bind(Scope::Sequence, &["l"], Action::Scale, "scale", "the axis linear, logarithmic, or a step a message"),
    bind(Scope::Sequence, &["+"], Action::ZoomIn, "zoom-in", "half of the time, around the cursor"),
    bind(Scope::Sequence, &["-"], Action::ZoomOut, "zoom-out", "twice the time"),
    bind(Scope::Sequence, &["z"], Action::ZoomTo, "zoom-to", "the time of the cursor's call, or of the screen again"),
    bind(
        Scope::Detail,
        &["p"],
        Action::Form,
        "form",
        "the next form: pretty, raw, hex, headers, schema, call, explain",
    ),
    bind(Scope::Detail, &[], Action::Schema, "schema", "whether it fits the schemas of its tool"),
    bind(Scope::Detail, &[], Action::Call, "call", "all messages of its call"),
    bind(Scope::Detail, &["K"], Action::Explain, "explain", "what may explain how it went"),
    bind(Scope::Session, &["n"], Action::NextFound, "next-found", "to the next place of what is looked for"),
    bind(Scope::Session, &["N"], Action::PreviousFound, "previous-found", "to the one before"),
    bind(Scope::Session, &["\""], Action::PreviousMark, "previous-mark", "to the mark before"),
    bind(
        Scope::Session,
        &["D"],
        Action::CompareThis,
        "compare-session",
        "compare this session with the marked one, or the one of its server before",
    ),
    bind(Scope::Compare, &["]"], Action::NextChange, "next-change", "to the next line that differs"),
    bind(Scope::Compare, &["["], Action::PreviousChange, "previous-change", "to the one before"),
    bind(Scope::Compare, &["v"], Action::Layout, "layout", "values side by side, one over the other, or word by word"),
    bind(Scope::Compare, &["e"], Action::OnlyChanges, "only-changes", "only what differs, or all"),
    bind(Scope::Compare, &["b"], Action::OpenInB, "open-in-b", "open the message of B; `enter` that of A"),
    bind(
        Scope::Compare,
        &["I"],
        Action::IgnorePath,
        "ignore-path",
        "leave out the place under the cursor, as `--ignore` does",
    ),
    bind(Scope::Compare, &["c"], Action::OtherOfB, "other-of-b", "the next session of MCP of B, then all as one"),
    bind(Scope::Compare, &["C"], Action::OtherOfA, "other-of-a", "the next session of MCP of A, then all as one"),
    bind(Scope::Compare, &["U"], Action::IgnoreNothing, "ignore-nothing", "leave out nothing any more"),
    bind(Scope::Compare, &["ctrl-r", "f5"], Action::CompareAnew, "compare-anew", "read both sessions again"),
    bind(Scope::Compare, &["x"], Action::ExportReport, "export-report", "write the text of `mcp-tap diff` to a file"),
    bind(
        Scope::Stats,
        &["b"],
        Action::GroupBy,
        "group-by",
        "a line a tool, a method, an hour, an error, over HTTP a session of MCP",
    ),
    bind(Scope::Stats, &["o"], Action::SortBy, "sort-by", "in another order"),
    bind(Scope::Stats, &["x"], Action::ExportFigures, "export-figures", "write the figures to a CSV file"),
    bind(Scope::Tools, &["y"], Action::CopyMessage, "copy-definition", "copy the definition as it was"),
    bind(Scope::Detail, &["o"], Action::Picture, "picture", "draw the image under the cursor"),
    bind(Scope::Detail, &["J"], Action::OpenStrings, "open-strings", "open up JSON inside strings, or not"),
    bind(Scope::Search, &["n"], Action::NextHit, "next-hit", "to the next hit"),
    bind(Scope::Search, &["N"], Action::PreviousHit, "previous-hit", "to the one before"),
    bind(
        Scope::Session,
        &["y"],
        Action::CopyMenu,
        "copy",
        "copy the message, a part of it, or a command that makes it again",
    ),
    bind(Scope::Session, &[], Action::CopyMessage, "copy-message", "copy the message as it was"),
    bind(
        Scope::Session,
        &["x"],
        Action::WriteValue,
        "write-value",
        "write the value under the cursor to a file: of an image its bytes",
    ),
    bind(Scope::Session, &["Y"], Action::CopyReference, "copy-reference", "copy how the command line names it"),
    bind(Scope::Session, &["c"], Action::CopyAsCall, "copy-call", "copy it as a `mcp-tap call` command"),
    bind(Scope::Session, &["w"], Action::WriteFile, "write", "write the message to a file"),
    bind(Scope::Session, &["P"], Action::Pager, "pager", "the message in $PAGER"),
    bind(Scope::Session, &["E"], Action::Editor, "editor", "the message in $EDITOR"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Key;

    /// Keys that mean something else where there is an axis of time. What they mean elsewhere is not there: no pane to widen,
    /// nothing to unfold.
    const OF_THE_AXIS: &[&str] = &["l", "+", "-", "z"];

    #[test]
    fn every_key_can_be_pressed_and_means_one_thing_where_it_does() {
        for (index, binding) in KEYMAP.iter().enumerate() {
            for key in binding.keys {
                assert_eq!(Key::named(key).map(Key::name).as_deref(), Some(*key));
                let same = KEYMAP[..index].iter().filter(|other| {
                    let is_of_axis = (other.scope == Scope::Sequence) != (binding.scope == Scope::Sequence)
                        && OF_THE_AXIS.contains(key);
                    other.keys.contains(key)
                        && !is_of_axis
                        && (other.scope == binding.scope
                            || other.scope == Scope::Everywhere
                            || binding.scope == Scope::Everywhere
                            || (other.scope == Scope::Moving) != (binding.scope == Scope::Moving))
                });
                assert_eq!(same.count(), 0, "{key} means two things");
            }
            assert!(KEYMAP[..index].iter().all(|other| other.name != binding.name), "{}", binding.name);
        }
    }
}
