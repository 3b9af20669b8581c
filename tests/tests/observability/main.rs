//! What a server tells of itself: metrics, caches, logs, traces and probes.

mod caches;
mod logs;
mod metrics;
mod probes;
mod traces;
