//! Work that may hang, within a time limit.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Overrun {
    /// The limit passed; the thread is left behind.
    #[error("it did not end in time")]
    TimedOut,
    /// The work ended its thread.
    #[error("it ended its thread")]
    Died,
    /// The machine has no thread for it.
    #[error("no thread to run it on: {0}")]
    NoThread(std::io::Error),
}

/// Runs `work` on a thread called `name` and waits for it, `limit` at most.
pub fn limited<T: Send + 'static>(name: &str, limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Overrun> {
    let (sender, receiver) = channel();
    let run = move || {
        // The receiver may have given up; then nobody wants the result any more.
        let _ = sender.send(work());
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(Overrun::NoThread)?;
    receiver.recv_timeout(limit).map_err(|error| match error {
        RecvTimeoutError::Timeout => Overrun::TimedOut,
        RecvTimeoutError::Disconnected => Overrun::Died,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_hangs_or_dies_is_told_apart_from_work_that_ends() {
        let limit = Duration::from_secs(10);
        assert!(matches!(limited("ends", limit, || 7), Ok(7)));
        assert!(matches!(limited("dies", limit, || std::panic::resume_unwind(Box::new(()))), Err::<(), _>(Overrun::Died)));
        let hang = || std::thread::sleep(Duration::from_secs(2));
        assert!(matches!(limited("hangs", Duration::from_millis(10), hang), Err(Overrun::TimedOut)));
    }
}
