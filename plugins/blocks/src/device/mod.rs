//! Devices that are no processor, and how they are used.

mod graph;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use graph::{Graph, GraphError};

/// Who may submit work: many at once, or one that records.
static WORK: RwLock<()> = RwLock::new(());

thread_local! {
    /// How many [`Work`]s this thread holds, and the lock that they share: one that took it again while another thread waits to record would
    /// wait for that one, and that one for it.
    static HELD: RefCell<(usize, Option<RwLockReadGuard<'static, ()>>)> = const { RefCell::new((0, None)) };
}

/// This thread submits work; nobody records. It is counted on its thread.
pub struct Work(PhantomData<*const ()>);

impl Drop for Work {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|(count, lock)| {
            *count -= 1;
            if *count == 0 {
                *lock = None;
            }
        });
    }
}

/// This thread records; nobody else submits work.
pub struct Alone(#[expect(dead_code, reason = "it is held, not read")] RwLockWriteGuard<'static, ()>);

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

/// Held while work is submitted that must not end up in what another thread records. A thread may hold several.
pub fn work() -> Work {
    HELD.with_borrow_mut(|(count, lock)| {
        *count += 1;
        lock.get_or_insert_with(|| WORK.read().unwrap_or_else(PoisonError::into_inner));
    });
    Work(PhantomData)
}

/// Held while work is recorded: on the one stream, whatever is submitted meanwhile would be recorded with it. Refused to a thread that holds
/// [`work`]: it would wait for itself.
pub fn record() -> Result<Alone, GraphError> {
    if HELD.with_borrow(|(count, _)| *count > 0) {
        return Err(GraphError::of("a thread that is submitting work cannot record"));
    }
    Ok(Alone(WORK.write().unwrap_or_else(PoisonError::into_inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn who_records_is_alone_and_who_works_may_work_again_meanwhile() {
        let (said, heard) = channel();
        let outer = work();
        let recorder = std::thread::spawn(move || {
            said.send("waits").expect("somebody listens");
            let _alone = record().expect("it does nothing else");
            said.send("records").expect("somebody listens");
        });
        assert_eq!(heard.recv(), Ok("waits"));
        // The recorder waits for the lock by now, or is about to.
        std::thread::sleep(Duration::from_millis(20));
        let inner = work();
        assert!(record().is_err(), "it would wait for itself");
        drop(outer);
        let again = work();
        assert!(heard.try_recv().is_err(), "it records beside work");
        drop((inner, again));
        assert_eq!(heard.recv(), Ok("records"));
        recorder.join().expect("it ends");
        drop(work());
    }
}
