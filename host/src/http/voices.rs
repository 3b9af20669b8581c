//! `GET /v1/audio/voices`

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::speech::voice;
use super::state::App;
use crate::engine::{Engine, Served};

/// The query of the listing.
#[derive(Debug, Deserialize)]
pub struct Filter {
    model: Option<String>,
}

/// Lists the voices of all models, or of one: the reference's two members, then the voices of each model by name, and which voice
/// stands for each of OpenAI's names.
pub async fn list(State(app): State<App>, Query(filter): Query<Filter>) -> Result<Json<Value>, ApiError> {
    let models = chosen(app.engine(), filter.model.as_deref())?;
    let names: BTreeSet<String> = models.iter().flat_map(|model| names(model)).chain([voice::DEFAULT.to_owned()]).collect();
    let by_model: Map<String, Value> = models.iter().map(|model| (model.id.clone(), json!(model.model.voices))).collect();
    let aliases = models.first().map_or_else(Map::new, |model| aliases(model));
    Ok(Json(json!({"voices": names, "uploaded_voices": [], "models": by_model, "aliases": aliases})))
}

/// `GET /openwebui/v1/audio/voices`: the same listing with an object in place of each name.
pub async fn objects(state: State<App>, filter: Query<Filter>) -> Result<Json<Value>, ApiError> {
    let Json(mut listing) = list(state, filter).await?;
    if let Some(voices) = listing["voices"].as_array_mut() {
        voices.iter_mut().for_each(|name| *name = json!({"id": name, "name": name}));
    }
    Ok(Json(listing))
}

fn chosen(engine: &Engine, model: Option<&str>) -> Result<Vec<Arc<Served>>, ApiError> {
    let Some(model) = model.filter(|model| !model.is_empty()) else {
        // An error where no model can speak yet: an empty list would be taken for the truth.
        engine.find(None)?;
        return Ok(engine.served());
    };
    Ok(vec![engine.find(Some(model))?])
}

fn names(model: &Served) -> impl Iterator<Item = String> {
    model.model.voices.iter().map(|voice| voice.name.to_lowercase())
}

fn aliases(model: &Served) -> Map<String, Value> {
    let known = model.aliases.names().filter(|name| model.aliases.voice(name).is_some_and(|voice| model.voice(voice).is_some()));
    let names = voice::OPENAI.into_iter().chain(known);
    names.map(|name| (name.to_owned(), json!(voice::stands_for(model, name)))).collect()
}
