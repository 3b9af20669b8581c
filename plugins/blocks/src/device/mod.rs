//! Devices that are no processor, and how they are used.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Who may submit work: many at once, or one that records.
static WORK: RwLock<()> = RwLock::new(());

/// The CUDA device of this index, used as this crate needs it:
///
/// - All threads share one stream. Weights are read by a thread that loads, used by threads that compute, and a stream of its own for each
///   would make every kernel wait for an event.
/// - Compiled and tuned kernels are kept in the user's cache folder: without that every start of a process compiles hundreds of them anew.
///
/// The library's own environment variables act as ever, and so does what was configured in this process before.
#[cfg(feature = "cuda")]
pub fn cuda(index: usize) -> burn::tensor::Device {
    use burn::cubecl::config::cache::CacheConfig;
    use burn::cubecl::config::streaming::StreamPolicy;
    use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};

    let mut config = CubeClRuntimeConfig::default().override_from_env();
    config.compilation.cache = true;
    config.environment.path = CacheConfig::Global;
    config.streaming.policy = StreamPolicy::Single;
    // Whoever configured the library before, in this process, knows better.
    let _was_first = CubeClRuntimeConfig::try_set(config);
    burn::tensor::Device::cuda(index)
}

/// Held while work is submitted that must not end up in what another thread records.
pub fn work() -> RwLockReadGuard<'static, ()> {
    WORK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held while work is recorded: on the one stream, whatever is submitted meanwhile would be recorded with it.
pub fn record() -> RwLockWriteGuard<'static, ()> {
    WORK.write().unwrap_or_else(PoisonError::into_inner)
}
