//! Is it alive, can it speak, which version is it.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use omni_plugin_api::INTERFACE_VERSION;
use serde_json::{Value, json};

use super::state::App;
use crate::engine::{ModelState, ModelStatus};

/// `GET /health`: 200 unless every model has failed.
pub async fn health(State(app): State<App>) -> (StatusCode, Json<Value>) {
    match ailment(&app.engine().status()) {
        None => (StatusCode::OK, Json(json!({"status": "healthy"}))),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "unhealthy", "reason": reason}))),
    }
}

/// `GET` and `POST /ping`: the status of [`health`] alone.
pub async fn ping(State(app): State<App>) -> StatusCode {
    if ailment(&app.engine().status()).is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// `GET /ready`: 200 when nothing is loading, a model can speak and the server is not about to end.
pub async fn ready(State(app): State<App>) -> (StatusCode, Json<Value>) {
    let models = app.engine().status();
    let status = readiness(&models, app.is_draining());
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(json!({"status": status, "models": models.iter().map(line).collect::<Vec<_>>()})))
}

/// `GET /version`.
pub async fn version() -> Json<Value> {
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "interface": INTERFACE_VERSION}))
}

/// Why the server is of no use any more, if it is not.
fn ailment(models: &[ModelStatus]) -> Option<String> {
    let reasons = models.iter().map(|status| match &status.state {
        ModelState::Failed(reason) | ModelState::Unhealthy(reason) => Some(format!("{}: {reason}", status.model)),
        ModelState::Loading { .. } | ModelState::Ready => None,
    });
    let reasons: Vec<String> = reasons.collect::<Option<_>>()?;
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn readiness(models: &[ModelStatus], is_draining: bool) -> &'static str {
    let any = |test: fn(&ModelState) -> bool| models.iter().any(|status| test(&status.state));
    if is_draining {
        "draining"
    } else if models.is_empty() || any(|state| matches!(state, ModelState::Loading { .. })) {
        "loading"
    } else if any(|state| matches!(state, ModelState::Ready)) {
        "ready"
    } else {
        "failed"
    }
}

fn line(status: &ModelStatus) -> Value {
    let mut line = json!({"model": status.model, "phase": null, "done": null, "total": null, "reason": null});
    line["state"] = match &status.state {
        ModelState::Loading { phase, done, total } => {
            line["phase"] = json!(phase);
            line["done"] = json!(done);
            line["total"] = json!(total);
            json!("loading")
        }
        ModelState::Ready => json!("ready"),
        ModelState::Failed(reason) => {
            line["reason"] = json!(reason);
            json!("failed")
        }
        ModelState::Unhealthy(reason) => {
            line["reason"] = json!(reason);
            json!("unhealthy")
        }
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(states: &[ModelState]) -> Vec<ModelStatus> {
        states.iter().map(|state| ModelStatus { model: "m".to_owned(), state: state.clone() }).collect()
    }

    #[test]
    fn one_model_that_can_speak_is_enough_and_loading_is_not_ready() {
        let (ready, failed) = (ModelState::Ready, ModelState::Failed("no file".to_owned()));
        let loading = ModelState::Loading { phase: "read".to_owned(), done: 1, total: 2 };
        for (states, wanted) in [
            (&[ready.clone(), failed.clone()][..], ("ready", true)),
            (&[ready.clone(), loading.clone()], ("loading", true)),
            (&[loading, failed.clone()], ("loading", true)),
            (&[failed], ("failed", false)),
            (&[], ("loading", true)),
        ] {
            let models = models(states);
            assert_eq!((readiness(&models, false), ailment(&models).is_none()), wanted, "{models:?}");
        }
        assert_eq!(readiness(&models(&[ready]), true), "draining");
    }
}
