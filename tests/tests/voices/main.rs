//! Voices: every store against one suite, several hosts on one store, the end of a process at any moment, hostile uploads, and uploaded and
//! prepared voices at work.

mod crash;
mod hostile;
mod openai;
mod prepared;
mod recordings;
mod shared;
mod stores;
mod suite;
mod support;
mod used;
