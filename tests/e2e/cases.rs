//! Misbehaving servers, each written after a failure that people met in public: through the tap everything must be as it
//! is without. The cases lie beside the project, so this is left out where they are not.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Scratch, TAP};

fn cases() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let python = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    match (folder.join("_drive.py").is_file(), python) {
        (true, true) => Some(folder),
        (false, _) => {
            eprintln!("skipped: cases of misbehaving servers: they are not beside this checkout");
            None
        }
        (_, false) => {
            eprintln!("skipped: cases of misbehaving servers: there is no python3");
            None
        }
    }
}

/// What the driver says of one case, run through the tap.
fn drive(folder: &std::path::Path, case: &str, scratch: &Scratch) -> Value {
    let mut command = Command::new("python3");
    command.arg("-B").arg(folder.join("_drive.py")).args([case, TAP, "run", "--name", "case", "--"]);
    let output = command.env("MCP_TAP_DB", scratch.db()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_else(|| panic!("{case}: {}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(last).unwrap()
}

#[test]
fn misbehaving_servers_are_as_they_are_without_a_tap() {
    let Some(folder) = cases() else {
        return;
    };
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('S'))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    for case in names {
        let scratch = Scratch::new();
        let verdict = drive(&folder, &case, &scratch);
        assert_eq!(verdict["ok"], true, "{case}: {verdict}");
        let session = scratch.session();
        assert_eq!(session["lost_bytes"], 0, "{case}: {session}");
        if case != "S21-client-gone" {
            // There the last line was read and recorded, and the client was gone.
            let recorded = scratch.recorded("client").len() as u64;
            assert_eq!(verdict["stdout_len"].as_u64(), Some(recorded), "{case}: what came out is what was recorded");
        }
    }
}

/// What the list of a case must show, from its own page of expectations.
#[test]
fn what_the_cases_expect_of_a_recorder_is_there() {
    let Some(folder) = cases() else {
        return;
    };
    let count = |rows: &[Value], kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    for (case, check) in [
        (
            "S01-stdout-noise",
            &(|frames: &[Value]| {
                let to_client: Vec<Value> = frames
                    .iter()
                    .filter(|row| row["direction"] == "to client" && row["kind"] != "stderr")
                    .cloned()
                    .collect();
                assert_eq!((to_client.len(), count(&to_client, "result"), count(&to_client, "blank")), (10, 2, 1));
                assert_eq!((count(&to_client, "not JSON"), count(&to_client, "not a message")), (6, 1));
            }) as &dyn Fn(&[Value]),
        ),
        ("S02-bom-crlf-blank", &|frames| {
            let answered = frames.iter().filter(|row| row["kind"] == "request" && row["status"] == "ok");
            assert_eq!(answered.map(|row| row["method"].as_str().unwrap()).collect::<Vec<_>>(), ["initialize", "ping"]);
            assert_eq!(count(frames, "blank"), 4);
        }),
        ("S10-id-reuse", &|frames| {
            let pairs: Vec<_> =
                frames.iter().filter(|row| row["kind"] == "request").map(|row| row["pair_seq"].as_u64()).collect();
            assert_eq!(pairs, [Some(5), Some(6), Some(7), Some(8)]);
        }),
        ("S12-batch", &|frames| {
            let lists = frames.iter().filter(|row| row["kind"] == "request" && row["member"] != 0);
            let statuses: Vec<_> = lists.map(|row| (row["method"].as_str().unwrap(), row["status"].as_str())).collect();
            assert_eq!(statuses, [("tools/list", Some("ok")), ("ping", Some("ok"))]);
        }),
        ("S13-progress-order", &|frames| {
            let progress: Vec<_> = frames.iter().filter(|row| row["method"] == "notifications/progress").collect();
            assert_eq!(progress.len(), 300);
        }),
        ("S25-torn-lines", &|frames| {
            assert_eq!(count(frames, "not JSON"), 2);
            let unanswered = frames.iter().filter(|row| row["kind"] == "request" && row["status"].is_null());
            assert_eq!(unanswered.count(), 1);
        }),
    ] {
        let scratch = Scratch::new();
        drive(&folder, case, &scratch);
        let frames = scratch.json(&["log", "--frames", "--json"]);
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&frames)));
        assert!(seen.is_ok(), "{case}: {frames:#?}");
    }
}
