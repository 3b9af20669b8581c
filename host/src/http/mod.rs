//! HTTP: the table of routes, what every answer carries, and the endpoints.

mod access;
mod auth;
mod error;
mod health;
mod limits;
mod metrics;
mod models;
mod python;
mod rate;
mod request_id;
mod router;
mod routes;
mod sanitise;
mod server;
pub mod speech;
mod state;
pub(crate) mod stream;
mod synthesize;
mod validation;
pub(crate) mod voices;
mod wire;

#[cfg(test)]
mod tests;

pub use auth::{Guard, KeyError, NamedKey, Secret};
pub use error::ApiError;
pub use limits::Limits;
pub use router::router;
pub use routes::{ROUTES, Route};
pub use server::run;
pub use state::{ApiSettings, App};
