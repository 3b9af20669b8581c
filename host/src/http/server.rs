//! Connections: accepted, served, and ended in order.
//!
//! A client that closes its side has left, also when it only said that it will send nothing more: the two look alike on the wire. Its
//! request's handler is dropped then, and with it the work in the engine.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Time for a request's head to arrive, and for a connection to be idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(75);
/// Time for answers that are being sent when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, for example for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` completes, then sends what is being sent and returns.
pub async fn run(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let open = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => serve(socket, router.clone(), &open),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    if timeout(STOP_DEADLINE, open.shutdown()).await.is_err() {
        tracing::warn!("connections were cut");
    }
}

/// Serves one connection on a task of its own.
fn serve(socket: TcpStream, router: Router, open: &GracefulShutdown) {
    // A small first piece of audio must not wait for a second one. Where this cannot be set, it does.
    drop(socket.set_nodelay(true));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE);
    let connection = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    let connection = open.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}
