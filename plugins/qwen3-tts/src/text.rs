//! Text to tokens: the chat strings that the model was trained with.

use std::path::Path;

use omni_blocks::text::{Bpe, TextError};

/// Tokens of the strings that the model reads.
pub struct Reader {
    bpe: Bpe,
    im_start: u32,
    im_end: u32,
}

impl Reader {
    /// The tokenizer of a checkpoint directory.
    pub fn open(directory: &Path) -> Result<Self, TextError> {
        let bpe = Bpe::open(directory)?;
        let (im_start, im_end) = (bpe.special("<|im_start|>")?, bpe.special("<|im_end|>")?);
        Ok(Self { bpe, im_start, im_end })
    }

    /// The head of an assistant's turn: start, role, line end.
    pub fn role(&self) -> Result<Vec<u32>, TextError> {
        self.turn("assistant", "")
    }

    /// The tokens of a text as they stand inside an assistant's turn. Blanks around it would merge with the turn's own line end, so
    /// they are cut off.
    pub fn speech(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let turn = self.turn("assistant", text.trim())?;
        Ok(turn.get(self.role()?.len()..).unwrap_or_default().to_vec())
    }

    /// A whole user's turn.
    pub fn instruction(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let mut turn = self.turn("user", text)?;
        turn.push(self.im_end);
        turn.extend(self.bpe.encode("\n")?);
        Ok(turn)
    }

    /// An open turn.
    fn turn(&self, role: &str, text: &str) -> Result<Vec<u32>, TextError> {
        let mut turn = vec![self.im_start];
        turn.extend(self.bpe.encode(&format!("{role}\n{text}"))?);
        Ok(turn)
    }
}
