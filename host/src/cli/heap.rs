//! Large pieces of memory go back to the system when they are freed.
//!
//! glibc raises the size from which it maps memory with each large piece that is freed, up to 32 MiB, and keeps everything below in its
//! heaps: after a few request bodies of ten megabytes a process would stay as much larger for good.

/// Pieces from this size on are mapped, and a heap with so much free at its end is cut. Larger than what a model's step works with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 8 << 20;

/// Fixes both sizes for the life of the process.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn settle() {
    // SAFETY: `mallopt` takes no pointer; it only sets two numbers of the allocator, under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
    }
}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn settle() {}
