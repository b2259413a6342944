//! The loop as tables: what goes in, what is to be done.

use proptest::prelude::*;
use tap_models::{NotACall, Usage};

use super::*;

const SECOND: u64 = 1_000_000_000;

fn call(name: &str, arguments: &str) -> Call {
    Call { id: None, name: name.into(), arguments: arguments.into() }
}

fn says(text: &str) -> ModelTurn {
    let usage = Some(Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 0 });
    ModelTurn { text: text.into(), calls: Vec::new(), stop: Stop::End, usage, verbatim: None }
}

fn calls(calls: &[Call]) -> ModelTurn {
    ModelTurn { calls: calls.iter().cloned().map(Ok).collect(), stop: Stop::ToolCalls, ..says("") }
}

fn asked(options: AgentOptions) -> Agent {
    let mut agent = Agent::new(options);
    agent.say(vec![Part::Text("?".into())], 0);
    assert_eq!(effects(&mut agent), [Effect::Ask]);
    agent
}

fn effects(agent: &mut Agent) -> Vec<Effect> {
    std::iter::from_fn(|| agent.poll_effect()).collect()
}

fn came(agent: &mut Agent, number: u64, text: &str) {
    agent.came(number, CallOutcome { result: text.into(), refused: None }, 0);
}

#[test]
fn calls_of_one_round_are_made_at_once_and_told_in_the_model_s_order() {
    let mut agent = asked(AgentOptions::default());
    let (a, b) = (call("a", "{}"), call("b", "{}"));
    agent.answered(calls(&[a.clone(), b.clone()]), 0);
    let made = [Effect::Call { number: 1, call: a.clone() }, Effect::Call { number: 2, call: b.clone() }];
    assert_eq!(effects(&mut agent), made);
    came(&mut agent, 2, "B");
    assert_eq!(effects(&mut agent), []);
    // What nobody called, and what came already, is nothing.
    came(&mut agent, 2, "again");
    came(&mut agent, 7, "?");
    came(&mut agent, 1, "A");
    assert_eq!(effects(&mut agent), [Effect::Ask]);
    assert_eq!(agent.turns().last(), Some(&Turn::Results(vec![(a, b"A".to_vec()), (b, b"B".to_vec())])));
    agent.answered(says("done"), 0);
    assert_eq!(effects(&mut agent), [Effect::End(Ending::Finished)]);
    assert_eq!((agent.text(), agent.spent().rounds, agent.spent().calls, agent.spent().tokens()), ("done", 2, 2, 30));
    // And on with the next question.
    agent.say(vec![Part::Text("and?".into())], SECOND);
    assert_eq!(effects(&mut agent), [Effect::Ask]);
    assert_eq!((agent.spent().rounds, agent.spent().calls, agent.spent().tokens()), (1, 0, 30));
}

#[test]
fn what_is_no_call_is_told_to_the_model_and_nothing_is_called() {
    let mut agent = asked(AgentOptions::default());
    let wrong = NotACall::Arguments { id: None, name: "a".into(), arguments: "[".into() };
    agent.answered(ModelTurn { calls: vec![Err(wrong)], stop: Stop::ToolCalls, ..says("") }, 0);
    assert_eq!(effects(&mut agent), [Effect::Ask]);
    let Some(Turn::Results(results)) = agent.turns().last() else { panic!("{:?}", agent.turns()) };
    assert!(String::from_utf8_lossy(&results[0].1).contains("no JSON object"), "{results:?}");
}

#[test]
fn each_bound_has_an_ending_of_its_own() {
    let with = |limits: Limits| AgentOptions { limits, ..AgentOptions::default() };
    let unlimited = Limits::default;
    let prices = Some(Prices { input: 1e6, output: 0.0 });
    for (options, expected) in [
        (with(Limits { rounds: 1, ..unlimited() }), Limit::Rounds(1)),
        (with(Limits { tokens: Some(15), ..unlimited() }), Limit::Tokens { spent: 15, limit: 15 }),
        (with(Limits { time_ns: Some(SECOND), ..unlimited() }), Limit::Time(SECOND)),
        (
            AgentOptions { prices, ..with(Limits { cost: Some(10.0), ..unlimited() }) },
            Limit::Cost { spent: 10.0, limit: 10.0 },
        ),
    ] {
        let mut agent = asked(options);
        agent.answered(calls(&[call("a", "{}")]), 0);
        assert_eq!(effects(&mut agent).len(), 1);
        agent.came(1, CallOutcome { result: b"A".to_vec(), refused: None }, SECOND);
        assert_eq!(effects(&mut agent), [Effect::GiveUp, Effect::End(Ending::Limited(expected))]);
    }
    let mut agent = asked(with(Limits { calls: 1, ..unlimited() }));
    agent.answered(calls(&[call("a", "{}"), call("b", "{}")]), 0);
    let ending = effects(&mut agent);
    assert_eq!(ending, [Effect::GiveUp, Effect::End(Ending::Limited(Limit::Calls(1)))]);
    let mut agent = asked(with(Limits { time_ns: Some(SECOND), ..unlimited() }));
    assert_eq!(agent.poll_timeout(), Some(SECOND));
    agent.tick(SECOND - 1);
    assert_eq!(effects(&mut agent), []);
    agent.tick(SECOND);
    assert_eq!(effects(&mut agent), [Effect::GiveUp, Effect::End(Ending::Limited(Limit::Time(SECOND)))]);
    assert_eq!(agent.poll_timeout(), None);
    for (stop, expected) in [
        (Stop::Length, Ending::Limited(Limit::Output)),
        (Stop::Refused, Ending::ModelRefused),
        (Stop::End, Ending::Finished),
    ] {
        let mut agent = asked(AgentOptions::default());
        agent.answered(ModelTurn { stop, ..says("x") }, 0);
        assert_eq!(effects(&mut agent).last(), Some(&Effect::End(expected)));
    }
    let mut agent = asked(AgentOptions::default());
    agent.failed("gone".into());
    assert_eq!(effects(&mut agent).last(), Some(&Effect::End(Ending::Failed("gone".into()))));
}

#[test]
fn a_call_that_comes_back_with_the_same_is_not_made_for_ever() {
    let mut agent = asked(AgentOptions::default());
    let again = call("a", r#"{"x":1}"#);
    let (mut n_made, mut n_rounds) = (0, 0);
    let ending = loop {
        n_rounds += 1;
        agent.answered(calls(std::slice::from_ref(&again)), 0);
        let mut number = None;
        let mut ending = None;
        for effect in effects(&mut agent) {
            match effect {
                Effect::Call { number: this, .. } => number = Some(this),
                Effect::End(how) => ending = Some(how),
                Effect::Ask | Effect::GiveUp => {}
            }
        }
        if let Some(number) = number {
            n_made += 1;
            came(&mut agent, number, "same");
            effects(&mut agent);
        }
        if let Some(ending) = ending {
            break ending;
        }
        assert!(n_rounds < 30);
    };
    // Three times it is made, three times the model is told that it is not, and then it is over.
    assert_eq!((n_made, n_rounds, ending), (3, 7, Ending::Limited(Limit::Repeats)));
    // What comes back with something else is made.
    let mut agent = asked(AgentOptions::default());
    for number in 1..=10_u64 {
        agent.answered(calls(std::slice::from_ref(&again)), 0);
        assert_eq!(effects(&mut agent), [Effect::Call { number, call: again.clone() }]);
        came(&mut agent, number, &number.to_string());
        assert_eq!(effects(&mut agent), [Effect::Ask]);
    }
}

#[test]
fn what_is_refused_ends_the_run_unless_it_is_to_go_on() {
    for goes_on_when_refused in [false, true] {
        let mut agent = asked(AgentOptions { goes_on_when_refused, ..AgentOptions::default() });
        agent.answered(calls(&[call("write", "{}"), call("read", "{}")]), 0);
        effects(&mut agent);
        agent.came(1, CallOutcome { result: b"no".to_vec(), refused: Some("a person".into()) }, 0);
        // What is under way is waited for.
        assert_eq!(effects(&mut agent), []);
        came(&mut agent, 2, "text");
        let expected = match goes_on_when_refused {
            true => vec![Effect::Ask],
            false => vec![Effect::GiveUp, Effect::End(Ending::Refused("write: a person".into()))],
        };
        assert_eq!(effects(&mut agent), expected);
        assert!(matches!(agent.turns().last(), Some(Turn::Results(results)) if results.len() == 2));
    }
}

proptest! {
    /// Whatever happens in whatever order, each call of the model's has one result behind its turn, and a question one ending.
    #[test]
    fn a_conversation_can_always_go_on(steps in prop::collection::vec((0_u8..7, 0_u64..6), 1..60)) {
        let mut agent = Agent::new(AgentOptions::default());
        let (mut n_said, mut n_ended) = (0_usize, 0_usize);
        for (step, number) in steps {
            match step {
                0 => {
                    n_said += 1;
                    if agent.is_busy() {
                        // It is given up without an ending of its own.
                        n_said -= 1;
                    }
                    agent.say(vec![Part::Text("?".into())], 0);
                }
                1 => agent.answered(says("x"), 0),
                2 => agent.answered(calls(&[call("a", "{}"), call("b", &number.to_string())]), 0),
                3 => agent.cancel(),
                4 => agent.failed("x".into()),
                _ => came(&mut agent, number, "r"),
            }
            n_ended += effects(&mut agent).iter().filter(|effect| matches!(effect, Effect::End(_))).count();
            prop_assert_eq!(n_ended + usize::from(agent.is_busy()), n_said);
            let mut turns = agent.turns().iter().peekable();
            while let Some(turn) = turns.next() {
                if let Turn::Model(turn) = turn
                    && !turn.calls.is_empty()
                {
                    match turns.peek() {
                        Some(Turn::Results(results)) => prop_assert_eq!(results.len(), turn.calls.len()),
                        Some(_) => prop_assert!(false, "calls without results"),
                        None => prop_assert!(agent.is_busy()),
                    }
                }
            }
        }
    }
}
