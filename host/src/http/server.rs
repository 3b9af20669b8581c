//! Connections: accepted, served, and ended in order.
//!
//! A client that closes its side has left, also when it only said that it will send nothing more: the two look alike on the wire. Its
//! request's handler is dropped then, and with it the work in the engine.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use super::error::ApiError;
use super::limits::{BodyLimits, Limits};
use super::wire::{self, Phase, Wire};
use crate::observe::metrics::catalogue::{CONNECTIONS, CONNECTIONS_CUT};

/// Time for answers that are being sent when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, for example for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections past the limit that are told so at once; others are closed without a word.
const REFUSED_AT_ONCE: usize = 64;
/// Time for such a client to read why.
const REFUSAL_DEADLINE: Duration = Duration::from_secs(1);

/// What the connections of a server share.
struct Door {
    router: Router,
    limits: Limits,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

/// Serves until `stop` completes, then sends what is being sent and returns.
pub async fn run(listener: TcpListener, router: Router, limits: Limits, stop: impl Future<Output = ()>) {
    let (places, refusals) = (Arc::new(Semaphore::new(limits.max_connections())), Arc::new(Semaphore::new(REFUSED_AT_ONCE)));
    let door = Door { router, limits, places, refusals, stopping: watch::Sender::new(false) };
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => door.open(socket),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    door.stopping.send_replace(true);
    if timeout(STOP_DEADLINE, door.stopping.closed()).await.is_err() {
        tracing::warn!("connections were cut");
    }
}

impl Door {
    /// Serves a connection if there is a place for it, else says that there is none.
    fn open(&self, socket: TcpStream) {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => self.serve(socket, place),
            Err(_) => self.refuse(socket),
        }
    }

    /// Serves one connection on a task of its own. One that becomes a WebSocket leaves here and is served by its session.
    fn serve(&self, socket: TcpStream, place: OwnedSemaphorePermit) {
        // A small first piece of audio must not wait for a second one. Where this cannot be set, it does.
        drop(socket.set_nodelay(true));
        let phase = Phase::default();
        let wire = Wire::new(socket, phase.clone(), self.limits.patience());
        let mut http = http1::Builder::new();
        // Slow heads are seen by the wire, which can answer them.
        http.timer(TokioTimer::new()).header_read_timeout(None);
        http.max_headers(self.limits.max_headers()).max_buf_size(self.limits.max_head_bytes());
        let (router, body) = (self.router.clone(), self.limits.body());
        let service = service_fn(move |request| answer(router.clone(), request, phase.clone(), body));
        let connection = http.serve_connection(TokioIo::new(wire), service).with_upgrades();
        let mut stopping = self.stopping.subscribe();
        tokio::spawn(async move {
            let _open = Open::new(place);
            let mut connection = pin!(connection);
            let served = tokio::select! {
                served = connection.as_mut() => Some(served),
                () = stop(&mut stopping) => None,
            };
            let served = match served {
                Some(served) => served,
                None => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }

    fn refuse(&self, mut socket: TcpStream) {
        CONNECTIONS_CUT.of(["too_many"]).increment(1);
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let bytes = wire::refusal(&ApiError::too_many_connections(self.limits.max_connections()));
        tokio::spawn(async move {
            let _permit = permit;
            let tell = async {
                socket.write_all(&bytes).await?;
                socket.shutdown().await?;
                while socket.read(&mut [0; 1024]).await? > 0 {}
                Ok::<(), std::io::Error>(())
            };
            // Whether the client heard it or not, the connection is closed.
            drop(timeout(REFUSAL_DEADLINE, tell).await);
        });
    }
}

/// Has the router answer a request.
async fn answer(router: Router, request: hyper::Request<Incoming>, phase: Phase, body: BodyLimits) -> Result<Response, Infallible> {
    phase.begun();
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(phase);
    request.extensions_mut().insert(body);
    router.oneshot(request).await
}

/// A place in use.
struct Open(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Open {
    fn new(place: OwnedSemaphorePermit) -> Self {
        CONNECTIONS.of([]).increment(1.0);
        Self(place)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        CONNECTIONS.of([]).decrement(1.0);
    }
}

/// Completes when answers that are being sent are the last ones.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is a stop as well.
    drop(stopping.wait_for(|stopping| *stopping).await);
}
