//! Staying on one CPU, where the system lets us say so.

use std::io;

/// Keeps this process, and all that it starts, on the last CPU that it may use; gives back that CPU's number.
///
/// The last, because the first is where most machines take their interrupts.
///
/// # Errors
///
/// Where the system has no such call, or refuses it.
#[cfg(target_os = "linux")]
pub fn stay_on_one_cpu() -> io::Result<usize> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let ourselves = Pid::from_raw(0);
    let allowed = sched_getaffinity(ourselves)?;
    let cpu = (0..CpuSet::count()).rev().find(|&cpu| allowed.is_set(cpu).unwrap_or(false)).unwrap_or(0);
    let mut only = CpuSet::new();
    only.set(cpu)?;
    sched_setaffinity(ourselves, &only)?;
    Ok(cpu)
}

/// Always an error: this system has no call for it.
#[cfg(not(target_os = "linux"))]
pub fn stay_on_one_cpu() -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
