//! `GET /metrics`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;

use super::error::ApiError;
use super::state::App;
use crate::engine::{ModelState, Served};
use crate::observe::metrics;
use crate::observe::metrics::catalogue::{DRAINING, MODELS, RUNNING, WAITING};

/// Prometheus' text format, and its version.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// What is there instead when nothing is measured.
const OFF: &str = "# Nothing is measured: the server was started with --disable-log-stats.\n";

/// Everything that is measured, as of now.
pub async fn page(State(app): State<App>) -> Result<Response, ApiError> {
    // A page is a few hundred lines; those are not written on a thread that passes audio on.
    let written = tokio::task::spawn_blocking(move || {
        look(&app);
        metrics::page()
    });
    let page = written.await.map_err(|_| ApiError::panicked())?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], page.unwrap_or_else(|| OFF.to_owned())).into_response())
}

/// Sets what is looked up and not noted when it changes.
fn look(app: &App) {
    DRAINING.of([]).set(f64::from(u8::from(app.is_draining())));
    for served in app.engine().served() {
        look_at(&served);
    }
    let states = app.engine().status().into_iter().map(|status| name(&status.state)).collect::<Vec<_>>();
    for state in ["loading", "ready", "failed", "unhealthy"] {
        MODELS.of([state]).set(states.iter().filter(|other| **other == state).count() as f64);
    }
}

fn look_at(served: &Served) {
    RUNNING.of([&served.id]).set(served.running() as f64);
    WAITING.of([&served.id]).set(served.waiting() as f64);
}

fn name(state: &ModelState) -> &'static str {
    match state {
        ModelState::Loading { .. } => "loading",
        ModelState::Ready => "ready",
        ModelState::Failed(_) => "failed",
        ModelState::Unhealthy(_) => "unhealthy",
    }
}
