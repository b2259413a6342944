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

/// The descriptor that the socket has in the sentinel.
const SOCKET: i32 = 3;

#[derive(Debug)]
pub(crate) struct Sentinel {
    socket: UnixStream,
    pid: Pid,
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
            ForkResult::Parent { child } => Ok(Self { socket: ours, pid: child }),
            ForkResult::Child => watch(its.as_raw_fd(), parent),
        }
    }

    /// Whether the sentinel got that signal too. Forgets all that it got up to now.
    pub(crate) fn also_got(&mut self, number: i32) -> bool {
        let mut answer = [0; 8];
        let asked = self.socket.write_all(b"?").and_then(|()| self.socket.read_exact(&mut answer));
        asked.is_ok() && u64::from_le_bytes(answer) & bit(number) != 0
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
            libc::dup2(null, standard);
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
            let answer = take_pending().to_le_bytes();
            if libc::write(SOCKET, answer.as_ptr().cast(), answer.len()) != 8 {
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
