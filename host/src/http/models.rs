//! `GET /v1/models` and `GET /v1/models/{id}`.

use axum::Json;
use axum::extract::{Path, State};
use omni_plugin_api::INTERFACE_VERSION;
use serde_json::{Value, json};

use super::error::ApiError;
use super::state::App;
use crate::engine::Served;

/// `GET /v1/models`: every model that was loaded.
pub async fn list(State(app): State<App>) -> Json<Value> {
    let cards: Vec<Value> = app.engine().served().iter().map(|model| card(model)).collect();
    Json(json!({"object": "list", "data": cards}))
}

/// `GET /v1/audio/models`: the names alone, in the shape that Open WebUI reads.
pub async fn brief(State(app): State<App>) -> Json<Value> {
    let models: Vec<Value> = app.engine().served().iter().map(|model| json!({"id": model.id, "name": model.id})).collect();
    Json(json!({"models": models}))
}

/// `GET /v1/models/{id}`
pub async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let model = app.engine().find(Some(id.trim_end_matches('/')))?;
    Ok(Json(card(&model)))
}

/// The reference's card, and what an operator or a client asks next.
fn card(model: &Served) -> Value {
    let (info, id) = (&model.info, &model.id);
    let file = model.file.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    json!({
        "id": id,
        "object": "model",
        "created": model.created,
        "owned_by": "omni-host",
        "root": id,
        "parent": null,
        "max_model_len": model.model.max_model_len,
        "permission": [permission(model)],
        "family": info.name,
        "description": info.description,
        "plugin": {"name": info.name, "version": info.version, "file": file, "build": model.build, "interface": INTERFACE_VERSION},
        "sample_rate": model.model.sample_rate_hz,
        "channels": info.channels,
        "voices": model.voices(),
        "streams": info.abilities.streams,
        "stages": info.stages,
        "request_schema": info.request_schema,
        "weights_license": info.weights_license,
    })
}

fn permission(model: &Served) -> Value {
    json!({
        "id": format!("modelperm-{}", model.build),
        "object": "model_permission",
        "created": model.created,
        "allow_create_engine": false,
        "allow_sampling": true,
        "allow_logprobs": true,
        "allow_search_indices": false,
        "allow_view": true,
        "allow_fine_tuning": false,
        "organization": "*",
        "group": null,
        "is_blocking": false,
    })
}
