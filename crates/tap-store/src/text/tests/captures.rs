//! Real traffic, where it is at hand, through every form and back.

use super::*;

/// The bytes of a capture, in order, each with who receives them. Of what was HTTP, the text of its heads and bodies.
fn capture(text: &str) -> Vec<tap_frame::Segment> {
    let mut segment = tap_frame::Segment::default();
    for (line, at_ns) in text.lines().zip((1_000_000..).step_by(1_000_000)) {
        let Ok(piece) = serde_json::from_str::<Value>(line) else { continue };
        let stream = match piece["dir"].as_str() {
            Some("c2s") => Stream::ToServer,
            Some("s2c") => Stream::ToClient,
            _ => Stream::Stderr,
        };
        // Of stdio there are lines, of HTTP chunks.
        let data = match (piece["line"].as_str(), piece["data"].as_str()) {
            (Some(line), _) => format!("{line}\n"),
            (None, Some(data)) => data.to_owned(),
            (None, None) => continue,
        };
        segment.push_chunk(stream, at_ns, crate::traffic::OPENED_UNIX_NS + at_ns, data.as_bytes());
    }
    vec![segment]
}

#[test]
fn captures_come_back_from_every_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no {}", folder.display());
        return;
    };
    let mut n_frames = 0;
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for (index, path) in paths.into_iter().enumerate() {
        let (store, id) = stored(&capture(&std::fs::read_to_string(&path).unwrap()), None);
        for (profile, fold_columns) in [(Profile::Lossless, 0), (Profile::Lossless, 100), (Profile::Fixture, 100)] {
            let options = ExportOptions { profile, fold_columns, stderr: true, ..ExportOptions::default() };
            let text = exported_as(&store, &options);
            let (again, done) = imported(&text).unwrap();
            n_frames += done.n_frames;
            if profile == Profile::Lossless {
                assert_eq!(recorded(&again, done.session), recorded(&store, id), "{}", path.display());
            } else {
                again.catch_up(done.session, |_| {}).unwrap();
                let bytes = |store: &Store, id| -> Vec<_> {
                    let all = recorded(store, id).into_iter();
                    all.filter_map(|it| match it {
                        Recorded::Frame(frame) => Some((frame.stream, frame.bytes)),
                        Recorded::End { .. } => None,
                    })
                    .collect()
                };
                assert_eq!(bytes(&again, done.session), bytes(&store, id), "{}", path.display());
                assert_eq!(exported_as(&again, &options), text, "{}", path.display());
            }
        }
        // Without secrets: once and for all. Of every fourth, for it takes its time.
        if index % 4 != 0 {
            continue;
        }
        let options = ExportOptions { profile: Profile::Fixture, fold_columns: 100, ..ExportOptions::default() };
        let redact = |store: &Store| {
            let mut redactor = Redactor::new(Vec::new(), Vec::new());
            let (session, mut out) = (store.sessions().unwrap().remove(0), Vec::new());
            export(store, &session, &options, Some(&mut redactor), &mut out, Path::new("out")).unwrap();
            out
        };
        let clean = redact(&store);
        let (again, done) = imported(&clean).unwrap();
        again.catch_up(done.session, |_| {}).unwrap();
        assert!(redact(&again) == clean, "{}: redacting it again changes it", path.display());
        let mut found = Vec::new();
        let take = &mut |line, finding: &tap_redact::Finding| found.push(format!("{line} {}", finding.path));
        find_secrets(Cursor::new(&clean), &path, &mut Redactor::default(), take).unwrap();
        assert_eq!(found, [""; 0], "{}", path.display());
    }
    assert!(n_frames > 100, "{n_frames}");
}
