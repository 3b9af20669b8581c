//! The router: routes of the table, JSON for what is not in it, and what every answer carries.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use http::{HeaderName, Method, header};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, Any as AnyOrigin, CorsLayer};

use super::access;
use super::auth::{self, Guard};
use super::error::ApiError;
use super::request_id::REQUEST_ID;
use super::routes::{OPEN_WEBUI, ROUTES, Route};
use super::speech::headers;
use super::state::App;

/// The router of a server that lets in whom `guard` lets in.
pub fn router(app: App, guard: Guard) -> Router {
    let mut router = Router::new();
    for (path, route) in paths() {
        router = router.route(&path, (route.handlers)());
        if !path.contains("{*") {
            router = router.route(&format!("{path}/"), (route.handlers)());
        }
    }
    router
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(app)
        .layer(middleware::from_fn_with_state(Arc::new(guard), auth::check))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(cors())
        .layer(middleware::from_fn(access::account))
}

/// The table, and what of it is mounted for Open WebUI without being replaced there.
fn paths() -> impl Iterator<Item = (String, &'static Route)> {
    let is_replaced = |path: &str| ROUTES.iter().any(|route| route.path == path);
    let mounted = ROUTES.iter().filter(|route| route.path.starts_with("/v1/"));
    let mounted = mounted.map(|route| (format!("{OPEN_WEBUI}{}", route.path), route)).filter(move |(path, _)| !is_replaced(path));
    ROUTES.iter().map(|route| (route.path.to_owned(), route)).chain(mounted)
}

async fn unknown_path(request: Request) -> ApiError {
    ApiError::unknown_path(request.uri().path())
}

async fn wrong_method(request: Request) -> ApiError {
    ApiError::wrong_method(request.method().as_str(), request.uri().path())
}

fn panicked(payload: Box<dyn Any + Send + 'static>) -> Response {
    let reason = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(reason, "a handler panicked");
    ApiError::panicked().into_response()
}

/// Any page may call the server: it has no cookies to protect. The headers a page asks for are echoed, since a star does not cover
/// `authorization`.
fn cors() -> CorsLayer {
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    let exposed: Vec<HeaderName> = headers::ALL.into_iter().chain([REQUEST_ID, header::RETRY_AFTER, header::WWW_AUTHENTICATE]).collect();
    CorsLayer::new()
        .allow_origin(AnyOrigin)
        .allow_methods(methods)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed)
        .max_age(Duration::from_secs(86_400))
}
