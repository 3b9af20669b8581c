//! `POST /v1/audio/speech/batch`: several texts in one request.
//!
//! `items` holds 1 to 32 requests; every field of the single endpoint may stand in an item, or beside `items` for all of them. An item's
//! own value wins, null and absence leave it to the batch (`merge`). `stream` and `stream_format` mean nothing here and are ignored.
//!
//! A fault of the schema refuses the whole batch and names its place, such as `body.items.3.speed`; so do an unknown `model` of the batch
//! (404) and a model without a free place (429). What an item meets after that is its own: the answer is 200, its result carries the error
//! that the same request would have got alone, and all other items are spoken (`answer`).
//!
//! A batch takes a place in its model and holds it to the end. It takes further ones while there are any, at most as many as the model has
//! slots, and never waits for one without work going on (`run`). Together its items may make 128 Mi samples (93 minutes at 24 kHz);
//! the item that goes past them fails (`budget`). A client that leaves takes all of it along.

mod answer;
mod budget;
mod endpoint;
pub(crate) mod merge;
pub(crate) mod request;
mod run;

pub use endpoint::create;
