//! What is found in several sessions.

use std::io::BufReader;

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use tap_store::{Store, import};

use super::detail::{recorded, troubled};
use super::{LARGE, Opened, SMALL, look_at};

/// All recordings and some more, in one store.
fn all(folder: &tempfile::TempDir) -> Opened {
    let store = Store::in_memory().unwrap();
    let many: Vec<String> = (0..30)
        .map(|n| format!(r#"!! "no such place, for the {n}. time""#))
        .chain([r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()])
        .collect();
    let many = recorded(folder, "many", &many.iter().map(String::as_str).collect::<Vec<_>>());
    let recordings = super::top().join("recordings");
    let files = ["demo.jsonl", "broken.jsonl", "modern.jsonl"].map(|name| recordings.join(name));
    for (index, file) in files.into_iter().chain([troubled(folder), many]).enumerate() {
        let opened = std::fs::File::open(&file).unwrap();
        import(&store, BufReader::new(opened), &file, &format!("{index:032}")).unwrap();
    }
    Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false }
}

#[test]
fn hits_are_told_by_session_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let opened = all(&folder);
    for (name, size, keys) in [
        ("search_small", SMALL, "1 S '\"no+such+place\"' enter j j j j"),
        ("search_large", LARGE, "1 S 'atlantis+or+trip' enter j"),
        ("search_tiny", (40, 10), "1 S 'place' enter"),
        ("search_opened", LARGE, "1 S '\"no+such+place\"+is:error' enter j enter"),
        ("search_more", SMALL, "1 S 'place' enter G k k k k k enter"),
        ("search_prompt", SMALL, "1 S 'tool:x+is:'"),
        ("search_nothing", SMALL, "1 S 'nothing-is-so' enter"),
    ] {
        assert_snapshot!(
            name,
            look_at(&opened, size, false, |bench| {
                bench.press(keys);
                bench.screen()
            })
        );
    }
}

#[test]
fn a_walk_goes_from_hit_to_hit_through_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let opened = all(&folder);
    for (keys, done) in [
        ("S 'atlantis' enter j enter Y n Y n Y N Y", "demo.3:12, demo.3:11, demo.3:11, demo.3:12"),
        ("S '\"no+such+place\"+is:error' enter j enter Y n Y n Y", "demo.2:18, demo.2:15, demo.2:15"),
        ("S 'place+-\"9.+time\"' enter j enter Y n Y", "demo:29, demo:28"),
        // Through what is not shown, and into the next session.
        ("S '\"no+such+place\"+-kind:stderr+or+atlantis' enter j enter Y n n n Y", "demo.2:18, demo.3:11"),
        // Back to what was found, and from there to another one.
        ("S 'atlantis' enter j enter q j enter Y", "demo.3:11"),
        ("S 'is:finding+n:6' enter j enter Y n Y", "demo.3:6, demo.3:6"),
        // In a message something else may be looked for.
        ("S '\"no+such+place\"+is:error' enter j enter / 'forecast' enter n Y", "demo.2:18"),
        ("S 'latncy>1s' enter", ""),
    ] {
        let was = look_at(&opened, SMALL, false, |bench| {
            bench.press(keys);
            bench.done.join(", ").replace("copy ", "")
        });
        assert_eq!(was, done, "{keys}");
    }
}

#[test]
fn a_call_whose_halves_both_fit_is_one_hit() {
    let folder = tempfile::tempdir().unwrap();
    let opened = all(&folder);
    for (filter, hits) in [
        ("tool:forecast+arg.city:Atlantis", "1 hit in 1"),
        ("atlantis", "2 hits in 1"),
        ("kind:request+atlantis", "1 hit in 1"),
        ("no-such-text-anywhere", "0 hits in 0"),
        ("\"no+such+place\"", "32 hits in 2"),
    ] {
        let screen = look_at(&opened, SMALL, false, |bench| {
            bench.press(&format!("S '{filter}' enter"));
            bench.screen()
        });
        assert!(screen.contains(&format!(" {hits} of 5 sessions")), "{filter}:\n{screen}");
        assert!(screen.contains("   all"), "{screen}");
    }
}
