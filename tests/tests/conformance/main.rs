//! The API's rules, one row a rule, tried over real sockets with the embedded voice.
//!
//! A row that is refused names the status, the `param` and a part of the message; a row that is taken names a plainer request with the
//! very same answer, or what must be true of the answer.

mod batch;
mod bodies;
mod coercion;
mod cross_fields;
mod families;
mod formats;
mod headers;
mod listings;
mod messages;
mod paths;
mod ranges;
mod sessions;
mod streams;
mod support;
mod uploads;
mod voices;
