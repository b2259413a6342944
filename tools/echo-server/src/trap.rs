//! Catching SIGTERM and SIGINT, to see whether a tap passes them on.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

/// From now on SIGTERM and SIGINT append their number and a newline to the file at `path`, and end the process with
/// status 40 + number.
///
/// The signals are blocked and a thread waits for them, because a handler could do next to nothing safely. Call it
/// before any other thread exists: each thread has its own mask, and takes it over from its maker.
///
/// # Errors
///
/// When the file cannot be opened, or the signals cannot be blocked.
pub fn install(path: &Path) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block()?;
    thread::spawn(move || {
        let Ok(signal) = signals.wait() else { return };
        let number = signal as i32;
        // Without the line the test fails, and says so; the status stays right.
        let _ = writeln!(file, "{number}");
        process::exit(40 + number);
    });
    Ok(())
}
