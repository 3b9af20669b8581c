//! What two threads share of a sequence: how much is on its way between them, who sleeps because of it, and whether anybody still wants it.
//!
//! This file names no runtime and no channel, so that `tests/loom` compiles it with the atomics of a model checker and runs every
//! interleaving.

use super::sync::{AtomicBool, AtomicUsize, Ordering};

/// The way of a sequence's chunks from one thread to the next. The sender asks [`Link::has_room`] before it makes more and sleeps when there
/// is none; the receiver tells it by [`Link::take`] when to wake up.
#[derive(Debug, Default)]
pub struct Link {
    chunks: AtomicUsize,
    units: AtomicUsize,
    paused: AtomicBool,
}

/// How much may be on the way: it is full when both numbers are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Chunks.
    pub chunks: usize,
    /// Units in them.
    pub units: usize,
}

impl Link {
    /// The sender hands over a chunk of so many units.
    pub fn put(&self, units: usize) {
        self.units.fetch_add(units, Ordering::AcqRel);
        self.chunks.fetch_add(1, Ordering::AcqRel);
    }

    /// The receiver has used up chunks. Whether the sender sleeps and is to be woken.
    #[must_use]
    pub fn take(&self, chunks: usize, units: usize) -> bool {
        self.units.fetch_sub(units, Ordering::AcqRel);
        self.chunks.fetch_sub(chunks, Ordering::AcqRel);
        self.paused.swap(false, Ordering::AcqRel)
    }

    /// Whether the sender may make more. If not, the next [`Link::take`] says that it is to be woken.
    ///
    /// Both sides swap the mark: whoever comes second sees all that the first did before. With a plain store here a wake-up can be lost.
    pub fn has_room(&self, room: Room) -> bool {
        if self.is_below(room) {
            return true;
        }
        self.paused.swap(true, Ordering::AcqRel);
        self.is_below(room)
    }

    fn is_below(&self, room: Room) -> bool {
        self.chunks.load(Ordering::Acquire) < room.chunks || self.units.load(Ordering::Acquire) < room.units
    }

    /// Whether the sender sleeps, or is about to.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }
}

/// Whether anybody still wants a sequence.
#[derive(Debug, Default)]
pub struct Fate(AtomicBool);

impl Fate {
    /// Nobody does any more. Whether this call was the first to say so.
    pub fn end(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
