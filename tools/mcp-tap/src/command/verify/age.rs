//! How old a recording is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::arguments::Global;
use crate::command::diff::first_value;
use crate::failure::Failure;
use crate::reference::Reference;

const DAY: u64 = 86_400;

/// That a recording is older than `limit`, in words; `None` where it is not.
pub(super) fn too_old(global: &Global, reference: &Reference, limit: Duration) -> Result<Option<String>, Failure> {
    let (recorded, by) = recorded_at(global, reference)?;
    let age = SystemTime::now().duration_since(recorded).unwrap_or_default();
    Ok((age > limit).then(|| format!("too old: {} {by}, and --max-age is {}", in_words(age), in_words(limit))))
}

/// When it was recorded, and what says so. A fixture has no clock: of it that is when it was last committed; where it was
/// changed since then, or never committed, when it was last written.
fn recorded_at(global: &Global, reference: &Reference) -> Result<(SystemTime, &'static str), Failure> {
    let Some(path) = reference.file().filter(|path| path.is_file()) else {
        let opened_ns = reference.resolve(global)?.session.start.opened_unix_ns;
        return Ok((UNIX_EPOCH + Duration::from_nanos(opened_ns), "since it was recorded"));
    };
    if let Ok(header) = first_value(path)
        && let Some(recorded_ns) =
            header.get("recorded_unix_ns").and_then(serde_json::Value::as_u64).filter(|ns| *ns > 0)
    {
        return Ok((UNIX_EPOCH + Duration::from_nanos(recorded_ns), "since it was recorded"));
    }
    if let Some(seconds) = committed(path) {
        return Ok((UNIX_EPOCH + Duration::from_secs(seconds), "since it was last committed"));
    }
    let written = path.metadata().and_then(|metadata| metadata.modified());
    let written =
        written.map_err(|error| Failure::new(format!("cannot tell how old {} is: {error}", path.display())))?;
    Ok((written, "since it was last written"))
}

/// When a file was last committed, seconds since the epoch; `None` where it was changed since then, or there is no git.
fn committed(path: &Path) -> Option<u64> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name()?;
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(words).arg("--").arg(name);
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if !git(&["status", "--porcelain"])?.is_empty() {
        return None;
    }
    git(&["log", "-1", "--format=%ct"])?.parse().ok()
}

fn in_words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (n, unit) = match seconds {
        _ if seconds >= DAY => (seconds / DAY, "day"),
        _ if seconds >= 3_600 => (seconds / 3_600, "hour"),
        _ => (seconds / 60, "minute"),
    };
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}
