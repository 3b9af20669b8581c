//! The speech WebSocket, with a real client for what clients do and frame by frame for what none would send.

mod frames;
mod places;
mod refused;
mod spoken;
mod support;
