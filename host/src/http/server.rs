//! Connections: accepted, served, and ended in order.
//!
//! A client that closes its side has left, also when it only said that it will send nothing more: the two look alike on the wire. Its
//! request's handler is dropped then, and with it the work in the engine.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Time for a request's head to arrive, and for a connection to be idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(75);
/// Time for answers that are being sent when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, for example for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` completes, then sends what is being sent and returns.
pub async fn run(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let stopping = watch::Sender::new(false);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => serve(socket, router.clone(), stopping.subscribe()),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    stopping.send_replace(true);
    if timeout(STOP_DEADLINE, stopping.closed()).await.is_err() {
        tracing::warn!("connections were cut");
    }
}

/// Serves one connection on a task of its own. One that becomes a WebSocket leaves here and is served by its session.
fn serve(socket: TcpStream, router: Router, mut stopping: watch::Receiver<bool>) {
    // A small first piece of audio must not wait for a second one. Where this cannot be set, it does.
    drop(socket.set_nodelay(true));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE);
    let connection = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router)).with_upgrades();
    tokio::spawn(async move {
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

/// Completes when answers that are being sent are the last ones.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is a stop as well.
    drop(stopping.wait_for(|stopping| *stopping).await);
}
