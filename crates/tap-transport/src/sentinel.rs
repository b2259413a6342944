//! The sentinel: a tiny process beside us in our process group, which is asked whether a signal went to the group.
//!
//! A signal that we receive may have been sent to us alone (then the server must be given it) or to our whole group (then
//! the server has it already, and a second SIGINT means "quit at once" to many servers). The kernel tells both in the
//! same way. The sentinel has all signals blocked and does nothing; when it is asked, it answers which signals are
//! pending for it. One that reached us and not it was meant for us alone.
//!
//! It holds no descriptor but its socket, and ends when the socket does, however we end.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::libc;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

/// How long to wait for an answer. It takes microseconds; only a stopped sentinel takes longer.
const PATIENCE: Duration = Duration::from_millis(250);

/// An answer: the question's number, then the signals as bits.
const ANSWER_BYTES: usize = 9;

/// The descriptor that the socket has in the sentinel.
const SOCKET: i32 = 3;

#[derive(Debug)]
pub(crate) struct Sentinel {
    socket: UnixStream,
    pid: Pid,
    /// The number of the newest question, so that an answer that came too late is not taken for one to the next.
    question: u8,
    /// Signals, as bits, that it got and that have not reached us yet.
    got: u64,
}

impl Sentinel {
    /// Starts the sentinel. All signals that will be asked about must be blocked already, and no other thread may run.
    pub(crate) fn start() -> io::Result<Self> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let parent = nix::unistd::getpid();
        // SAFETY: the process has one thread, so the child may do whatever the parent could.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self { socket: ours, pid: child, question: 0, got: 0 }),
            ForkResult::Child => watch(its.as_raw_fd(), parent),
        }
    }

    /// Whether the sentinel got that signal too. Each one that it got is counted once.
    pub(crate) fn also_got(&mut self, number: i32) -> bool {
        // Unanswered, it may have got the signal or not; then it counts as sent to us alone.
        let _ = self.ask();
        let also = self.got & bit(number) != 0;
        self.got &= !bit(number);
        also
    }

    /// Has the sentinel tell what it got since it was asked last.
    fn ask(&mut self) -> io::Result<()> {
        self.question = self.question.wrapping_add(1);
        self.socket.write_all(&[self.question])?;
        loop {
            let mut answer = [0; ANSWER_BYTES];
            self.socket.read_exact(&mut answer)?;
            let [to, signals @ ..] = answer;
            self.got |= u64::from_le_bytes(signals);
            if to == self.question {
                return Ok(());
            }
        }
    }

    /// Ends the sentinel and waits until it is gone.
    pub(crate) fn dismiss(self) {
        drop(self.socket);
        let _ = waitpid(self.pid, None);
    }
}

fn bit(number: i32) -> u64 {
    1u64.checked_shl(number.unsigned_abs().wrapping_sub(1)).unwrap_or(0)
}

/// The sentinel's whole life.
fn watch(socket: i32, parent: Pid) -> ! {
    // SAFETY: this is a process of its own with one thread; the calls below take numbers or the address of a local
    // variable. It never returns, so no destructor of the parent's objects runs here.
    unsafe {
        if socket != SOCKET {
            libc::dup2(socket, SOCKET);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            // Whatever happens it must not hold the host's pipes open.
            if null < 0 {
                libc::close(standard);
            } else {
                libc::dup2(null, standard);
            }
        }
        close_from(SOCKET + 1);
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::prctl(libc::PR_SET_NAME, c"tap-sentinel".as_ptr());
        }
        if libc::getppid() != parent.as_raw() {
            libc::_exit(0);
        }
        let mut everything = std::mem::zeroed();
        libc::sigfillset(&raw mut everything);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const everything, std::ptr::null_mut());
        loop {
            let mut question = 0u8;
            match libc::read(SOCKET, (&raw mut question).cast(), 1) {
                1 => {}
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
                _ => libc::_exit(0),
            }
            let mut answer = [question; ANSWER_BYTES];
            answer[1..].copy_from_slice(&take_pending().to_le_bytes());
            if libc::write(SOCKET, answer.as_ptr().cast(), ANSWER_BYTES) != ANSWER_BYTES as isize {
                libc::_exit(0);
            }
        }
    }
}

/// The signals that are pending for this process, as bits; afterwards none is.
fn take_pending() -> u64 {
    let mut taken = 0;
    loop {
        // SAFETY: the calls take the addresses of local variables; sigwait returns at once, for the set holds only
        // signals that are pending and blocked.
        unsafe {
            let mut pending = std::mem::zeroed();
            libc::sigpending(&raw mut pending);
            let found = (1..=64).find(|&number| libc::sigismember(&raw const pending, number) == 1);
            let Some(number) = found else {
                return taken;
            };
            taken |= bit(number);
            let mut got = 0;
            if libc::sigwait(&raw const pending, &raw mut got) != 0 {
                return taken;
            }
            taken |= bit(got);
        }
    }
}

/// Closes every descriptor from `first` on.
fn close_from(first: i32) {
    #[cfg(target_os = "linux")]
    // SAFETY: closing by number; nothing in this process uses them again.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } == 0 {
        return;
    }
    // SAFETY: as above. An old kernel or another system: one by one, as far as is usual.
    unsafe {
        for number in first..1024 {
            libc::close(number);
        }
    }
}
