//! `GET /v1/audio/speech/stream`: a WebSocket that takes text as it is written and gives audio as it is made.
//!
//! The client begins with `session.config`, which holds for all that follows until the next one: every field of the speech endpoint
//! but `input`, and `stream_audio` and `split_granularity`. Then it sends `input.text` as often as it likes and `input.done` when the
//! utterance is complete. What comes back is in the order of what was sent:
//!
//! | Message | When |
//! | --- | --- |
//! | `audio.start` | the first audio of a unit exists, or the unit has failed |
//! | binary frames | `stream_audio`: samples, whole ones in every frame. Else one frame, the complete file |
//! | `audio.chunk` | `word_timestamps`: the samples as base64 instead, then one without samples that tells when each word is spoken |
//! | `audio.done` | the unit has ended; always after an `audio.start` |
//! | `session.done` | an `input.done` has been worked off |
//! | `error` | a message was refused, or a unit failed (between its `audio.start` and its `audio.done`) |
//!
//! A unit is spoken like a request of its own: same checks, same place in the queue, same log line. One fails without the others. A unit
//! without anything to speak fails like a request without anything to speak, naming `input`; so does one for which there is no place, with
//! `code` 429 and `retry_after_s`. The next unit is begun while the current one is being sent.
//!
//! Beyond the reference: `audio.start` tells the true rate and what could not be spoken (`warnings`); errors have the `code` and the
//! `param` of the speech endpoint; `speed` works with `stream_audio` wherever it works at all; `input.cancel` stops the utterance; and
//! every session ends with a close frame that has a code and a reason.
//!
//! `input.cancel` drops what is being spoken and what waits, whole utterances too. The unit that was being sent gets its `audio.done`,
//! with `cancelled`. Every `input.done` and every `input.cancel` is answered by one `session.done`, cancelled ones with `cancelled`.
//!
//! | File | What it holds |
//! | --- | --- |
//! | `endpoint` | the handshake |
//! | `socket` | frames in and out, pings, the close handshake |
//! | `end` | why a session ends, as code and reason |
//! | `protocol` | the client's messages |
//! | `event` | the server's messages |
//! | `config` | what `session.config` says |
//! | `inbox` | what was sent and is not worked off yet, in order |
//! | `utterance` | one unit at work in the engine |
//! | `speaking` | the unit that is being sent |
//! | `sounding` | its audio as frames, or as chunks with the times of its words |
//! | `session` | the session itself |
//! | `limits` | times and sizes |

mod config;
pub(crate) mod end;
mod endpoint;
pub(crate) mod event;
pub(crate) mod inbox;
mod limits;
mod protocol;
mod session;
mod socket;
mod sounding;
mod speaking;
#[cfg(test)]
mod testing;
mod utterance;

pub use endpoint::open;
