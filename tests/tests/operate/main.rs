//! What operators rely on: metrics, caches, keys, limits, probes, logs and traces.

mod caches;
mod keys;
mod limits;
mod logs;
mod metrics;
mod support;
mod traces;
