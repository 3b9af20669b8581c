//! What operators rely on: metrics, keys, limits, probes, logs and traces.

mod keys;
mod limits;
mod logs;
mod metrics;
mod support;
mod traces;
