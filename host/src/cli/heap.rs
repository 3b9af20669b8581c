//! Large pieces of memory go back to the system when they are freed.
//!
//! glibc raises the size from which it maps memory with each large piece that is freed, up to 32 MiB, and keeps everything below in its
//! heaps: after a few request bodies of ten megabytes a process would stay as much larger for good. Smaller pieces lie in heaps between
//! others that live longer: what a burst of requests left there is given back once they are gone.

use std::time::Duration;

use crate::engine::Engine;

/// How often is looked whether requests have gone. Giving back takes milliseconds, and only after requests.
const BETWEEN: Duration = Duration::from_secs(5);

/// Gives back what requests left in the heaps whenever none is inside; never completes.
pub async fn upkeep(engine: &Engine) {
    let mut given_back_after = 0;
    loop {
        tokio::time::sleep(BETWEEN).await;
        let served = engine.served();
        let entered = served.iter().map(|model| model.entered()).sum();
        let are_inside = served.iter().any(|model| model.running() > 0);
        if entered != given_back_after && !are_inside {
            given_back_after = entered;
            tokio::task::spawn_blocking(give_back).await.unwrap_or_else(|error| tracing::warn!(%error, "no memory was given back"));
        }
    }
}

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

/// Gives the free pages of all heaps back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: `malloc_trim` takes no pointer, and takes the lock of each heap it looks at.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn settle() {}
