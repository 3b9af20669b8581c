//! HTTP: the table of routes, what every answer carries, and the endpoints.

mod error;
mod health;
mod limits;
mod models;
mod python;
mod request_id;
mod router;
mod routes;
mod server;
pub mod speech;
mod state;
mod stream;
mod validation;
mod voices;

#[cfg(test)]
mod tests;

pub use error::ApiError;
pub use router::router;
pub use routes::{ROUTES, Route};
pub use server::run;
pub use state::App;
