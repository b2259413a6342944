//! Signals that reach the tap, passed on to the server exactly once each.

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};

use crate::child::{Lifeline, PlainProcess, ServerProcess};
use crate::sentinel::Sentinel;

/// Signals that are left alone: those nobody can catch, those that a fault of our own raises, our child's end, a broken
/// pipe, job control (the terminal stops and continues the whole group), and the one that interrupts our own reads.
const LEFT_ALONE: [i32; 15] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGCHLD,
    libc::SIGPIPE,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGCONT,
    libc::SIGURG,
];

/// The signals taken over from the system, and the means to tell for whom they were.
#[derive(Debug)]
pub struct Signals {
    sentinel: Option<Sentinel>,
}

fn passed_on() -> libc::sigset_t {
    // SAFETY: sigfillset and sigdelset write to a local variable that they initialise.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        for number in LEFT_ALONE {
            libc::sigdelset(&raw mut set, number);
        }
        set
    }
}

/// Blocks all signals that are passed on, for this thread and those it starts, so that none of them ends the tap.
///
/// Returns the mask as it was: the server must be started with it.
#[must_use]
pub fn block_signals() -> SigSet {
    let mut before = SigSet::empty();
    // SAFETY: the set was initialised by sigfillset.
    let all = unsafe { SigSet::from_sigset_t_unchecked(passed_on()) };
    let _ = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&all), Some(&mut before));
    before
}

/// Whether a signal is ignored, as whoever started us can have it (`nohup` does, of a hangup).
#[must_use]
pub fn is_ignored(number: i32) -> bool {
    // SAFETY: without a new action sigaction only writes the present one to a local variable.
    unsafe {
        let mut present: libc::sigaction = std::mem::zeroed();
        libc::sigaction(number, std::ptr::null(), &raw mut present) == 0 && present.sa_sigaction == libc::SIG_IGN
    }
}

impl Signals {
    /// Starts the sentinel. Call after [`block_signals`], before any other thread and before the server is started.
    ///
    /// Where no process can be forked, every signal counts as sent to the tap alone.
    #[must_use]
    pub fn take_over() -> Self {
        Self { sentinel: Sentinel::start().ok() }
    }

    /// Starts the thread that passes signals on to the server for as long as it lives.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn pass_on_to(self, server: &ServerProcess) -> std::io::Result<PassingOn> {
        self.pass_on(server.lifeline(), |_| {})
    }

    /// The same, with something to do before a signal is passed on: it gets the signal's number.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn pass_on_to_after(
        self,
        server: &ServerProcess,
        before: impl FnMut(i32) + Send + 'static,
    ) -> std::io::Result<PassingOn> {
        self.pass_on(server.lifeline(), before)
    }

    /// The same for a program that has our own standard streams.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn pass_on_to_plain(self, process: &PlainProcess) -> std::io::Result<PassingOn> {
        self.pass_on(process.lifeline(), |_| {})
    }

    fn pass_on(self, lifeline: Lifeline, mut before: impl FnMut(i32) + Send + 'static) -> std::io::Result<PassingOn> {
        let Self { mut sentinel } = self;
        let (dismiss, dismissed) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
            while let Some(number) = next_signal() {
                if dismissed.try_recv().is_ok() {
                    break;
                }
                before(number);
                // A signal from the terminal goes to the whole group, and one from the kernel may be for us alone; the
                // sentinel tells these apart like all others.
                if !sentinel.as_mut().is_some_and(|sentinel| sentinel.also_got(number)) {
                    lifeline.send(number);
                }
            }
            if let Some(sentinel) = sentinel {
                sentinel.dismiss();
            }
        })?;
        Ok(PassingOn { thread, dismiss })
    }
}

/// The running thread that passes signals on.
#[derive(Debug)]
pub struct PassingOn {
    thread: std::thread::JoinHandle<()>,
    dismiss: std::sync::mpsc::Sender<()>,
}

impl PassingOn {
    /// Ends the thread and the sentinel, and waits until both are gone.
    pub fn stop(self) {
        let _ = self.dismiss.send(());
        // Wake it with a signal of ours; it looks at the channel before it passes anything on.
        // SAFETY: the thread has not been joined, so its handle is valid.
        unsafe {
            libc::pthread_kill(std::os::unix::thread::JoinHandleExt::as_pthread_t(&self.thread), libc::SIGUSR2);
        }
        let _ = self.thread.join();
    }
}

/// Waits for the next signal and gives its number. `None` when waiting is not possible.
fn next_signal() -> Option<i32> {
    let set = passed_on();
    loop {
        // SAFETY: sigwaitinfo reads an initialised set, and is allowed to be given no place for what else is known.
        let number = unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) };
        if number > 0 {
            return Some(number);
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}
