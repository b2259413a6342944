//! The bodies of the fuzz targets: what must hold for every text recording and every message, or else they panic.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/fuzz.rs` runs it over the corpus
//! and mutations of it in every test run.

use std::io::Cursor;
use std::path::Path;

use tap_frame::Direction;
use tap_redact::Redactor;
use tap_store::{Addition, Store, TextFrame, TextFrames, Transport, add, find_secrets, import, rewrite, text_frame};

const NAME: &str = "a.mcprec";

/// The frames of a recording over stdio: the bytes of each, as far as it makes sense.
fn frames(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let name = Path::new(NAME);
    let mut frames = TextFrames::open(Cursor::new(text), name).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(TextFrame { frame, place, .. }) = frames.next_frame().map_err(|error| error.to_string())? {
        if !frame.bytes.is_empty() {
            let again = text_frame(Cursor::new(text), name, place).expect("what was read can be read again");
            assert_eq!(again, frame.bytes);
        }
        found.push(frame.bytes.to_vec());
    }
    Ok(found)
}

/// Target `recording`: a text recording that anybody may have written.
pub(crate) fn recording(input: &[u8]) {
    let name = Path::new(NAME);
    let store = Store::in_memory().expect("a database in memory");
    let imported = import(&store, Cursor::new(input), name, "0123456789abcdef0123456789abcdef");
    let mut found = Vec::new();
    let looked = find_secrets(Cursor::new(input), name, &mut Redactor::new(Vec::new(), Vec::new()), &mut |line, _| {
        found.push(line);
    });
    if looked.is_ok() {
        // Lines are lines of the file.
        let n_lines = input.split(|byte| *byte == b'\n').count() as u64;
        assert!(found.iter().all(|line| (1..=n_lines).contains(line)), "{found:?}");
    }
    let is_stdio =
        TextFrames::open(Cursor::new(input), name).is_ok_and(|frames| frames.transport() == Transport::Stdio);
    let read = if is_stdio { frames(input) } else { Err("over HTTP".into()) };
    match (&read, &imported) {
        (Ok(frames), Ok(imported)) => assert_eq!(frames.len() as u64, imported.n_frames),
        (Ok(_), Err(error)) => panic!("the one reads what the other does not: {error}"),
        // What is told of a file is told in a line or a few.
        (Err(error), _) => assert!(error.len() < 10_000, "{error}"),
    }
    for fold_columns in [0, 40, 100] {
        let mut written = Vec::new();
        if rewrite(Cursor::new(input), name, fold_columns, None, &mut written).is_ok()
            && let Ok(before) = &read
        {
            assert_eq!(frames(&written).as_ref(), Ok(before), "folded at {fold_columns}");
            // Written once more it is what it was.
            let mut again = Vec::new();
            rewrite(Cursor::new(&written), name, fold_columns, None, &mut again).expect("what was written can be read");
            assert_eq!(again, written);
        }
    }
    let mut redactor = Redactor::new(Vec::new(), Vec::new());
    let mut written = Vec::new();
    if rewrite(Cursor::new(input), name, 100, Some(&mut redactor), &mut written).is_ok() && read.is_ok() {
        frames(&written).expect("a recording stays one without its secrets");
    }
}

/// Target `message`: any line of a peer is in a recording what it was on the wire, folded or not.
pub(crate) fn message(input: &[u8]) {
    let name = Path::new(NAME);
    let line: Vec<u8> = input.iter().copied().filter(|byte| *byte != b'\n').collect();
    let addition = |direction| Addition { behind: 0, direction, bytes: line.clone().into(), gap_ns: 0 };
    for profile in ["fixture", "lossless"] {
        let empty = format!("{{\"mcp-tap\":\"recording/1\",\"profile\":\"{profile}\"}}\n");
        for fold_columns in [0, 20, 100] {
            let additions = [addition(Direction::ToServer), addition(Direction::ToClient)];
            let mut out = Vec::new();
            add(Cursor::new(empty.as_bytes()), name, &additions, fold_columns, None, &mut out)
                .expect("it can be added");
            let expected = [&line[..], b"\n"].concat();
            assert_eq!(frames(&out), Ok(vec![expected.clone(), expected]), "folded at {fold_columns}");
        }
    }
}
