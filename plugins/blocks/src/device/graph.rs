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
    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl<T, F: FnMut() -> T> Graph<T, F> {
    /// Records work, which runs a few times for it; the first of them is the compiler's and the tuner's as well.
    ///
    /// While work is recorded nothing may be allocated, so what it needs is allocated by a run before. The library keeps every buffer of that
    /// run apart and leaves all of them to the graph that follows: gigabytes, where the work itself gets by with the few that are in use at
    /// once. So that run's graph is an empty one, which is dropped, and the real one is recorded into the buffers that are free by then.
    pub fn record(_alone: &Alone, device: &Device, mut work: F) -> Result<Self, GraphError> {
        let dispatch = device.as_dispatch();
        Dispatch::graph_prepare(dispatch).map_err(GraphError::of)?;
        rehearse(device, &mut work)?;
        let recorded = match Dispatch::graph_start_capture(dispatch) {
            Err(error) => Err(GraphError::of(error)),
            Ok(()) => {
                // The empty graph goes at once.
                let _ = Dispatch::graph_stop_capture(dispatch).map_err(GraphError::of)?;
                // What kernels are told of their tensors went with it, and is there again after a run outside of a graph.
                rehearse(device, &mut work)?;
                Dispatch::graph_prepare(dispatch).map_err(GraphError::of)?;
                Dispatch::graph_start_capture(dispatch).map_err(GraphError::of)
            }
        };
        let output = work();
        let recorded = recorded.and_then(|()| Dispatch::graph_stop_capture(dispatch).map_err(GraphError::of));
        // Buffers of the runs before that no graph has.
        device.memory_cleanup();
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

/// Does the work once, for what it leaves behind.
fn rehearse<T>(device: &Device, work: &mut impl FnMut() -> T) -> Result<(), GraphError> {
    let output = work();
    let done = Dispatch::sync(device.as_dispatch()).map_err(GraphError::of);
    drop(output);
    done
}
