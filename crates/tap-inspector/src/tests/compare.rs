//! Two sessions beside each other, whatever is pressed and however it is answered.

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{EVIL, holds, opened};
use crate::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_compared_is_seen_and_safe(
        steps in prop::collection::vec((0_usize..14, any::<usize>()), 1..80),
        last_seq in 1_u64..300,
        size in prop_oneof![Just((80, 24)), Just((160, 45)), Just((20, 6)), (20_u16..200, 6_u16..60)],
    ) {
        let (mut world, mut inspector) = opened(last_seq, false);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let _ = inspector.update(Input::Resize(size.0, size.1));
        let of_view = |binding: &&Binding| matches!(binding.scope, Scope::Compare | Scope::Moving);
        let keys: Vec<&str> = KEYMAP.iter().filter(of_view).flat_map(|binding| binding.keys.iter().copied()).collect();
        world.take(inspector.update(Input::Key(Key::named("D").unwrap())));
        prop_assert_eq!(inspector.view_now(), View::Compare);
        for (step, n) in steps {
            let effects = match step {
                0..7 => inspector.update(Input::Key(Key::named(keys[n % keys.len()]).unwrap())),
                7 => inspector.update(Input::Key(Key::named(["tab", "z", "q", "D", "3"][n % 5]).unwrap())),
                8 => inspector.update(Input::Resize((n % 180) as u16 + 20, (n / 180 % 50) as u16 + 6)),
                _ if world.open.is_empty() => Vec::new(),
                _ => {
                    let index = n % world.open.len();
                    let (ticket, query) = world.open[index].clone();
                    let in_part = step == 9 && matches!(query, Query::Compare(_));
                    if !in_part && !matches!(query, Query::Watch(_)) {
                        world.open.remove(index);
                    }
                    match world.answer(&query, !in_part) {
                        Some(_) if step == 10 => inspector.update(Input::Failed(Some(ticket), EVIL.into())),
                        Some(answer) => inspector.update(Input::Answer(ticket, answer)),
                        None => Vec::new(),
                    }
                }
            };
            world.take(effects);
            holds(&inspector, &mut terminal);
            prop_assert!(world.open.len() < 20, "questions pile up: {:?}", world.open);
        }
    }
}

/// Lines come in parts, and what was looked at is found again.
#[test]
fn a_place_that_is_ignored_leaves_the_cursor_on_its_line() {
    let (mut world, mut inspector) = opened(69, false);
    let press = |world: &mut super::World, inspector: &mut Inspector, keys: &str| {
        super::drive(world, inspector, keys);
    };
    press(&mut world, &mut inspector, "D ] ] ] ] j j");
    let before = inspector.compared_line().cloned();
    assert!(before.is_some());
    press(&mut world, &mut inspector, "tab j j j j I");
    assert_eq!(inspector.compared_line().cloned(), before);
    press(&mut world, &mut inspector, "e");
    let here = inspector.compared_line().cloned().unwrap();
    assert_ne!(here.sign, CompareSign::Same);
    press(&mut world, &mut inspector, "e");
    assert_eq!(inspector.compared_line().cloned(), Some(here));
}
