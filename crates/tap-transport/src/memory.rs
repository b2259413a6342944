//! The allocator's settings, for a process that holds large blocks for a short time.

/// Has blocks of 128 KiB and more given back to the system when they are freed.
///
/// The C library otherwise raises that limit as soon as a larger block was freed once, and keeps what is freed: a tap
/// that had to hold thirty megabytes for a moment would seem to need them for ever.
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LIMIT_BYTES: nix::libc::c_int = 128 * 1024;
        // SAFETY: the call takes two numbers, and is made before other threads run.
        unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LIMIT_BYTES) };
    }
}
