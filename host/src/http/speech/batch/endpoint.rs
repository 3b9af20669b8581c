//! The handler.

use axum::extract::{Request, State};
use axum::response::Response;

use super::request::Batch;
use super::{answer, run};
use crate::http::error::ApiError;
use crate::http::speech::{body, endpoint};
use crate::http::state::App;

/// Speaks several texts.
pub async fn create(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let bytes = endpoint::receive(&app, request).await?;
    let (len, batch) = (bytes.len(), read(bytes, app.settings().max_batch_items)?);
    let results = run::speak(&app, batch, len).await?;
    Ok(answer::answer(results))
}

/// Takes the bytes, so that they are gone while the items are worked on.
fn read(bytes: Vec<u8>, max_items: usize) -> Result<Batch, ApiError> {
    Batch::read(body::parse(&bytes)?, max_items)
}
