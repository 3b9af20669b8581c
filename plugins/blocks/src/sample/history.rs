//! What a sequence has drawn.

/// The ids that were drawn, each once, and how many draws there were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    seen: Vec<bool>,
    drawn: usize,
}

impl History {
    /// Counts a draw.
    pub fn push(&mut self, id: u32) {
        let index = id as usize;
        if index >= self.seen.len() {
            self.seen.resize(index + 1, false);
        }
        self.seen[index] = true;
        self.drawn += 1;
    }

    /// Draws so far.
    pub fn drawn(&self) -> usize {
        self.drawn
    }

    /// Ids that were drawn, ascending.
    pub fn ids(&self) -> impl Iterator<Item = usize> {
        self.seen.iter().enumerate().filter(|(_, seen)| **seen).map(|(id, _)| id)
    }
}
