//! What the inspector remembers from one run to the next, in a file of its own. Never fatal: what cannot be read is as if it
//! were not there, and what of it makes no sense is left out.

use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tap_inspector::{HISTORY, Remembered, Sort, View};
use toml_edit::{Array, DocumentMut, value};

use crate::failure::Failure;
use crate::new_file::{NewFile, Readers};

/// How much of the file is read, bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// Reads it.
pub(super) fn read(path: &Path) -> Remembered {
    let text = std::fs::File::open(path).ok().and_then(whole);
    let document = text.and_then(|text| text.parse::<DocumentMut>().ok());
    let document = document.unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(|item| item.as_str());
    let flag = |name: &str| document.get(name).and_then(|item| item.as_bool());
    let split = document.get("split").and_then(|item| item.as_integer()).and_then(|split| u16::try_from(split).ok());
    let history = document.get("filters").and_then(|item| item.as_array());
    Remembered {
        split: split.unwrap_or(50),
        calls: flag("calls").unwrap_or(true),
        sort: text("sort").and_then(Sort::named).unwrap_or_default(),
        shows_keys: flag("line_of_keys").unwrap_or(true),
        history: history.into_iter().flatten().filter_map(|filter| filter.as_str()).map(str::to_owned).collect(),
        view: text("view").and_then(View::named).unwrap_or(View::Timeline),
    }
}

/// All of a text that is not too long.
fn whole(file: impl Read) -> Option<String> {
    let mut text = String::new();
    file.take(FILE_BYTES + 1).read_to_string(&mut text).ok()?;
    Some(text).filter(|text| text.len() as u64 <= FILE_BYTES)
}

/// Writes it, in one step. Of filters that another inspector wrote meanwhile none is lost.
pub(super) fn write(path: &Path, remembered: &Remembered) -> Result<(), Failure> {
    let Remembered { split, calls, sort, shows_keys, history, view } = remembered;
    let mut all = read(path).history;
    all.retain(|filter| !history.contains(filter));
    all.extend(history.iter().cloned());
    let surplus = all.len().saturating_sub(HISTORY);
    let mut document = DocumentMut::new();
    document["split"] = value(i64::from(*split));
    document["calls"] = value(*calls);
    document["sort"] = value(sort.name());
    document["line_of_keys"] = value(*shows_keys);
    document["view"] = value(view.name().unwrap_or("timeline"));
    document["filters"] = value(all.into_iter().skip(surplus).collect::<Array>());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = NewFile::create(path, Readers::Owner)?;
    file.write_all(document.to_string().as_bytes())?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn remembered(history: &[&str]) -> Remembered {
        Remembered {
            split: 35,
            calls: false,
            sort: Sort::Errors,
            shows_keys: false,
            history: history.iter().map(|filter| (*filter).to_owned()).collect(),
            view: View::State,
        }
    }

    #[test]
    fn it_is_read_back_as_it_was_written_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/mcp-tap/inspector.toml");
        let all = remembered(&["is:error", "tool:\"a \\\" b\"", "arg.x~/\u{1b}[2J'''/"]);
        write(&path, &all).unwrap();
        assert_eq!(read(&path), all);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let n_files = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(n_files, 1, "nothing is left beside it");
    }

    #[test]
    fn filters_of_several_inspectors_come_together_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inspector.toml");
        write(&path, &remembered(&["a", "b"])).unwrap();
        write(&path, &remembered(&["c", "a"])).unwrap();
        assert_eq!(read(&path).history, ["b", "c", "a"]);
        let many: Vec<String> = (0..HISTORY).map(|n| n.to_string()).collect();
        write(&path, &Remembered { history: many.clone(), ..remembered(&[]) }).unwrap();
        assert_eq!(read(&path).history, many);
    }

    #[test]
    fn of_a_file_that_is_too_long_no_more_is_read_than_tells_that() {
        let mut file = std::io::repeat(b'#').take(10 * FILE_BYTES);
        assert_eq!(whole(&mut file), None);
        assert_eq!(file.limit(), 9 * FILE_BYTES - 1, "what is left");
        assert_eq!(whole(std::io::repeat(b'#').take(FILE_BYTES)).map(|text| text.len() as u64), Some(FILE_BYTES));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inspector.toml");
        let nothing = read(&path);
        assert_eq!((nothing.split, nothing.calls, nothing.view), (50, true, View::Timeline));
        for text in [
            "",
            "no toml",
            "split = -1\nsort = 'x'\nview = 7\nfilters = [1, {}]\n",
            "split = 99999999999\ncalls = 'x'\nfilters = 'x'\n",
            "\u{0}",
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path), nothing, "{text}");
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(read(&path), nothing);
    }
}
