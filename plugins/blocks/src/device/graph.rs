//! Work that is recorded once and submitted as a whole from then on.

use burn::tensor::Device;
use burn_backend::{Backend, BackendGraph};
use burn_dispatch::Dispatch;

use super::Alone;

/// Work of the device that reads and writes the same buffers every time. Where the device records, all of its kernels are one submission;
/// elsewhere it runs operation by operation, with the same result.
///
/// What it reads is told by writing into tensors that it holds, in place.
pub struct Graph<T, F> {
    device: Device,
    work: F,
    output: T,
    recorded: Result<BackendGraph<Dispatch>, GraphError>,
}

/// Why work was not recorded or could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GraphError(String);

impl GraphError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl<T, F: FnMut() -> T> Graph<T, F> {
    /// Records work, which runs two or three times for it.
    ///
    /// The first run is the compiler's and the tuner's. From the second on every buffer that is handed out stays with the graph, for good:
    /// while work is recorded nothing may be allocated. One such run is enough where each takes the same way; the library's own function makes
    /// three, for kernels that are fused while it watches, and a graph of it keeps three times the memory.
    pub fn record(_alone: &Alone, device: &Device, mut work: F) -> Result<Self, GraphError> {
        let dispatch = device.as_dispatch();
        let mut rehearse = || {
            let output = work();
            let done = Dispatch::sync(dispatch).map_err(GraphError::of);
            drop(output);
            done
        };
        rehearse()?;
        Dispatch::graph_prepare(dispatch).map_err(GraphError::of)?;
        rehearse()?;
        let (output, recorded) = match Dispatch::graph_start_capture(dispatch) {
            Ok(()) => (work(), Dispatch::graph_stop_capture(dispatch).map_err(GraphError::of)),
            Err(error) => (work(), Err(GraphError::of(error))),
        };
        Ok(Self { device: device.clone(), work, output, recorded })
    }

    /// Why the device has not recorded it, if it has not.
    pub fn refusal(&self) -> Option<&GraphError> {
        self.recorded.as_ref().err()
    }

    /// Does the work again. The result is of the same buffers every time where the device has recorded it.
    ///
    /// # Safety
    ///
    /// Every tensor that the work reads or writes is held by it or by its caller, no other thread touches one of them until the result was
    /// read, and what they are told is submitted by this thread.
    pub unsafe fn run(&mut self) -> Result<&T, GraphError> {
        match &self.recorded {
            // SAFETY: the caller's word is what the library asks for.
            Ok(graph) => unsafe { Dispatch::graph_replay(self.device.as_dispatch(), graph) }.map_err(GraphError::of)?,
            Err(_) => self.output = (self.work)(),
        }
        Ok(&self.output)
    }
}
