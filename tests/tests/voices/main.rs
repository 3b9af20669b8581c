//! Voices: every store against one suite, several hosts on one store, the end of a process at any moment, hostile uploads, uploaded and
//! prepared voices at work, and the command line.

mod command;
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
