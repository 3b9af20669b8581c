//! `GET /v1/audio/voices`

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Served};
use crate::http::error::ApiError;
use crate::http::speech::find;
use crate::http::state::App;
use crate::voices::{Record, key_of};

/// The query of the listing.
#[derive(Debug, Deserialize)]
pub struct Filter {
    model: Option<String>,
}

/// The reference's two members, then the voices of each model by name, and which voice stands for each of OpenAI's names.
#[derive(Serialize)]
struct Listing<'a> {
    voices: Vec<Shown<'a>>,
    uploaded_voices: Vec<&'a Record>,
    models: Map<String, Value>,
    aliases: Map<String, Value>,
}

/// A name in the listing.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Name(&'a str),
    Object { id: &'a str, name: &'a str },
}

fn plain(name: &str) -> Shown<'_> {
    Shown::Name(name)
}

fn object(name: &str) -> Shown<'_> {
    Shown::Object { id: name, name }
}

/// Lists the voices of all models, or of one, and those that were uploaded.
pub async fn list(State(app): State<App>, Query(filter): Query<Filter>) -> Result<Response, ApiError> {
    listed(&app, &filter, plain).await
}

/// `GET /openwebui/v1/audio/voices`: the same listing with an object in place of each name.
pub async fn objects(State(app): State<App>, Query(filter): Query<Filter>) -> Result<Response, ApiError> {
    listed(&app, &filter, object).await
}

async fn listed(app: &App, filter: &Filter, shown: fn(&str) -> Shown<'_>) -> Result<Response, ApiError> {
    let models = chosen(app.engine(), filter.model.as_deref())?;
    let profiles = app.references().profile_names().await.map_err(|error| find::unusable(&error))?;
    let own = own_names(&models, &profiles);
    let stored = app.voices().list();
    // Without those whose name means another voice.
    let uploaded: Vec<&Record> = stored.iter().map(|record| &**record).filter(|record| !own.contains(&record.key)).collect();
    let listing = Listing {
        voices: names(&own, &uploaded).into_iter().map(shown).collect(),
        uploaded_voices: uploaded,
        models: models.iter().map(|model| (model.id.clone(), json!(model.voices()))).collect(),
        aliases: models.first().map_or_else(Map::new, |model| aliases(app, model, &profiles)),
    };
    Ok(Json(listing).into_response())
}

/// The names of the models' own voices, of those that were prepared for them, and of profiles.
fn own_names(models: &[Arc<Served>], profiles: &[String]) -> BTreeSet<String> {
    let own = models.iter().flat_map(|model| model.own_voices());
    own.chain(profiles.iter().map(String::as_str)).map(key_of).collect()
}

/// All names in order.
fn names<'a>(own: &'a BTreeSet<String>, uploaded: &[&'a Record]) -> Vec<&'a str> {
    let uploaded = uploaded.iter().map(|record| record.key.as_str());
    let mut names: Vec<&str> = own.iter().map(String::as_str).chain(uploaded).chain([find::DEFAULT]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn chosen(engine: &Engine, model: Option<&str>) -> Result<Vec<Arc<Served>>, ApiError> {
    let Some(model) = model.filter(|model| !model.is_empty()) else {
        // An error where no model can speak yet: an empty list would be taken for the truth.
        engine.find(None)?;
        return Ok(engine.served());
    };
    Ok(vec![engine.find(Some(model))?])
}

fn aliases(app: &App, model: &Served, profiles: &[String]) -> Map<String, Value> {
    let leads_to = |name: &&str| model.aliases.voice(name).is_some_and(|voice| find::known(app, model, profiles, voice).is_some());
    let names = find::OPENAI.into_iter().chain(model.aliases.names().filter(leads_to));
    names.map(|name| (name.to_owned(), json!(find::stands_for(app, model, profiles, name)))).collect()
}
