//! Is it alive, can it speak, how busy is it, which version is it.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use omni_plugin_api::INTERFACE_VERSION;
use serde_json::{Value, json};

use super::state::App;
use crate::config::device_name;
use crate::engine::{ModelState, ModelStatus, Pulse, Served};

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

/// `GET /ready`: 200 when nothing is loading, a model that can speak has room and the server is not about to end. Of each model it tells
/// how far its load is, who is inside, and what its stages are doing.
pub async fn ready(State(app): State<App>) -> (StatusCode, Json<Value>) {
    let (models, served) = (app.engine().status(), app.engine().served());
    let has_room = served.iter().any(|model| model.has_room().is_ok());
    let status = readiness(&models, app.is_draining(), has_room);
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let lines = models.iter().map(|status| {
        let mut line = line(status);
        if let Some(model) = served.iter().find(|model| model.id == status.model) {
            line["load"] = load_of(model);
            line["stages"] = model.pulses().iter().map(stage).collect();
        }
        line
    });
    (code, Json(json!({"status": status, "models": lines.collect::<Vec<_>>()})))
}

/// `GET /load`: how many requests are inside, running or waiting.
pub async fn load(State(app): State<App>) -> Json<Value> {
    let inside = app.engine().served().iter().map(|model| model.running() + model.waiting()).sum::<usize>();
    Json(json!({"server_load": inside}))
}

/// `GET /version`.
pub async fn version() -> Json<Value> {
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "interface": INTERFACE_VERSION}))
}

fn load_of(model: &Served) -> Value {
    json!({"slots": model.slots(), "running": model.running(), "waiting": model.waiting()})
}

/// A stage replica: in a call since when, or since when in none.
fn stage(pulse: &Pulse) -> Value {
    let ms = |time: std::time::Duration| time.as_millis() as u64;
    let (call, in_call_ms) = pulse.call.map_or((None, None), |(call, since)| (Some(call), Some(ms(since))));
    json!({
        "stage": pulse.stage,
        "name": pulse.name,
        "replica": pulse.replica,
        "device": device_name(pulse.device),
        "state": if pulse.closed.is_none() { "alive" } else { "closed" },
        "reason": pulse.closed,
        "sequences": pulse.sequences,
        "call": call,
        "in_call_ms": in_call_ms,
        "quiet_ms": ms(pulse.quiet),
    })
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

fn readiness(models: &[ModelStatus], is_draining: bool, has_room: bool) -> &'static str {
    let any = |test: fn(&ModelState) -> bool| models.iter().any(|status| test(&status.state));
    if is_draining {
        "draining"
    } else if models.is_empty() || any(|state| matches!(state, ModelState::Loading { .. })) {
        "loading"
    } else if any(|state| matches!(state, ModelState::Ready)) {
        if has_room { "ready" } else { "full" }
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
            assert_eq!((readiness(&models, false, true), ailment(&models).is_none()), wanted, "{models:?}");
        }
        assert_eq!(readiness(&models(std::slice::from_ref(&ready)), false, false), "full");
        assert_eq!(readiness(&models(&[ready]), true, true), "draining");
    }
}
