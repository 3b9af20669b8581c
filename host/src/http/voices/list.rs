//! `GET /v1/audio/voices`

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Served};
use crate::http::error::ApiError;
use crate::http::speech::voice;
use crate::http::state::App;
use crate::voices::{Record, key_of};

/// The query of the listing.
#[derive(Debug, Deserialize)]
pub struct Filter {
    model: Option<String>,
}

/// Lists the voices of all models, or of one, and those that were uploaded: the reference's two members, then the voices of each model by
/// name, and which voice stands for each of OpenAI's names.
pub async fn list(State(app): State<App>, Query(filter): Query<Filter>) -> Result<Json<Value>, ApiError> {
    let models = chosen(app.engine(), filter.model.as_deref())?;
    let mut names: BTreeSet<String> = models.iter().flat_map(|model| names(model)).collect();
    let uploaded = uploaded(&app, &names);
    names.extend(uploaded.iter().map(|record| record.key.clone()));
    names.insert(voice::DEFAULT.to_owned());
    let uploaded: Vec<Value> = uploaded.iter().map(|record| record.listed()).collect();
    let by_model: Map<String, Value> = models.iter().map(|model| (model.id.clone(), json!(model.voices()))).collect();
    let aliases = models.first().map_or_else(Map::new, |model| aliases(&app, model));
    Ok(Json(json!({"voices": names, "uploaded_voices": uploaded, "models": by_model, "aliases": aliases})))
}

/// The uploaded voices, without those whose name a model has for a voice of its own.
fn uploaded(app: &App, own: &BTreeSet<String>) -> Vec<Arc<Record>> {
    let mut records = app.voices().list();
    records.retain(|record| !own.contains(&record.key));
    records
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
    model.own_voices().map(key_of)
}

fn aliases(app: &App, model: &Served) -> Map<String, Value> {
    let chosen =
        model.aliases.names().filter(|name| model.aliases.voice(name).is_some_and(|voice| voice::known(app, model, voice).is_some()));
    let names = voice::OPENAI.into_iter().chain(chosen);
    names.map(|name| (name.to_owned(), json!(voice::stands_for(app, model, name)))).collect()
}
