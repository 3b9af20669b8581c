//! What a convolution over time remembers between pieces of a sequence.

/// The last rows a convolution saw: it needs `2 * side` rows around the next one.
///
/// A sequence has `side` rows of zeros before it and after it, like the padding of a convolution over the whole.
#[derive(Debug, Clone)]
pub struct Tail {
    rows: Vec<f32>,
    width: usize,
    side: usize,
}

impl Tail {
    /// The state before a sequence of rows of `width` values.
    pub fn new(width: usize, side: usize) -> Self {
        Self { rows: vec![0.0; side * width], width, side }
    }

    /// Appends rows, and the closing zeros if they are the `last`; gives the rows that can be worked on, with all their context.
    ///
    /// # Shapes
    /// - `rows`: `[n, width]`
    /// - result: `[m + 2 * side, width]` for `m` rows of output, or nothing while there is too little
    pub fn push(&mut self, rows: &[f32], last: bool) -> Option<Vec<f32>> {
        let closing = if last { self.side * self.width } else { 0 };
        let mut all = Vec::with_capacity(self.rows.len() + rows.len() + closing);
        all.extend_from_slice(&self.rows);
        all.extend_from_slice(rows);
        all.resize(all.len() + closing, 0.0);
        let context = 2 * self.side * self.width;
        self.rows = all[all.len().saturating_sub(context)..].to_vec();
        (all.len() > context).then_some(all)
    }

    /// The rows of a result of [`Tail::push`] that its outputs belong to.
    pub fn centre<'a>(&self, rows: &'a [f32]) -> &'a [f32] {
        let side = self.side * self.width;
        &rows[side..rows.len() - side]
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;

    #[test]
    fn pieces_give_every_row_once_with_its_neighbours() {
        let mut tail = Tail::new(1, 2);
        assert_eq!(tail.push(&[1.0, 2.0], false), None);
        assert_eq!(tail.push(&[3.0], false), Some(vec![0.0, 0.0, 1.0, 2.0, 3.0]));
        let end = tail.push(&[], true).expect("two rows are left");
        assert_eq!(tail.centre(&end), [2.0, 3.0]);
    }
}
