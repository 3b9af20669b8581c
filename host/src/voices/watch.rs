//! Looking for what other hosts changed.

use std::io;
use std::sync::Arc;
use std::thread::{self, sleep};

use super::registry::Voices;

/// Looks for changes by others from now on, for as long as somebody else holds the voices. Tells when the store is lost and found.
pub fn watch(voices: &Voices) -> io::Result<()> {
    let Some(period) = voices.store().poll_every() else { return Ok(()) };
    let (inner, place) = (Arc::downgrade(voices.inner()), voices.store().place());
    let look = move || {
        let mut is_lost = false;
        loop {
            sleep(period);
            let Some(inner) = inner.upgrade() else { return };
            match Voices::of(inner).refresh() {
                Ok(()) if is_lost => {
                    tracing::info!(place, "the voice store is back");
                    is_lost = false;
                }
                Ok(()) => {}
                Err(error) if !is_lost => {
                    tracing::warn!(place, %error, "the voice store cannot be read; the voices that are known still speak");
                    is_lost = true;
                }
                Err(error) => tracing::debug!(place, %error, "the voice store cannot be read"),
            }
        }
    };
    thread::Builder::new().name("voices".to_owned()).spawn(look).map(drop)
}
