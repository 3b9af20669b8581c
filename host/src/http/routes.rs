//! The table of routes: the router, the `allow` headers and the start-up log are made from it.

use axum::routing::{MethodRouter, delete, get, post};

use super::state::App;
use super::{health, metrics, models, speech, stream, synthesize, voices};

/// One route.
pub struct Route {
    /// The methods, as a log shows them.
    pub methods: &'static str,
    /// The path, in the router's notation.
    pub path: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Makes its handlers.
    pub(super) handlers: fn() -> MethodRouter<App>,
}

/// Where the API is mounted a second time, for Open WebUI, which reads a list of voices in another shape.
pub(super) const OPEN_WEBUI: &str = "/openwebui";

/// Every route of the server. Each below `/v1` also works below `/openwebui/v1`, and each also works with a slash at its end.
pub const ROUTES: &[Route] = &[
    Route { methods: "POST", path: "/v1/audio/speech", about: "speaks a text", handlers: || post(speech::create) },
    Route { methods: "GET", path: "/v1/audio/speech/stream", about: "speaks while the text is written", handlers: || get(stream::open) },
    Route { methods: "POST", path: "/v1/audio/speech/batch", about: "speaks several texts", handlers: || post(speech::batch::create) },
    Route { methods: "POST", path: "/synthesize", about: "speaks as custom-voice servers do", handlers: || post(synthesize::create) },
    Route {
        methods: "POST",
        path: "/synthesize/stream",
        about: "speaks in floats as they are made",
        handlers: || post(synthesize::create_stream),
    },
    Route { methods: "GET", path: "/speakers", about: "lists speakers by name", handlers: || get(synthesize::speakers) },
    Route { methods: "GET", path: "/v1/audio/models", about: "lists models as Open WebUI reads them", handlers: || get(models::brief) },
    Route {
        methods: "GET, POST",
        path: "/v1/audio/voices",
        about: "lists voices and stores one",
        handlers: || get(voices::list).post(voices::create),
    },
    Route { methods: "DELETE", path: "/v1/audio/voices/{name}", about: "deletes a voice", handlers: || delete(voices::remove) },
    Route { methods: "GET", path: "/openwebui/v1/audio/voices", about: "lists voices as objects", handlers: || get(voices::objects) },
    Route { methods: "GET", path: "/v1/models", about: "lists models", handlers: || get(models::list) },
    Route { methods: "GET", path: "/v1/models/{*id}", about: "describes a model", handlers: || get(models::show) },
    Route { methods: "GET", path: "/health", about: "says whether the server lives", handlers: || get(health::health) },
    Route { methods: "GET", path: "/ready", about: "says whether the server can speak", handlers: || get(health::ready) },
    Route { methods: "GET, POST", path: "/ping", about: "is health without a body", handlers: || get(health::ping).post(health::ping) },
    Route { methods: "GET", path: "/load", about: "tells how many requests are inside", handlers: || get(health::load) },
    Route { methods: "GET", path: "/metrics", about: "is the page for Prometheus", handlers: || get(metrics::page) },
    Route { methods: "GET", path: "/version", about: "tells versions", handlers: || get(health::version) },
];
