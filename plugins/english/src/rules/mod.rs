//! Everything that is not a plain word becomes words here, one kind of thing a file, in a fixed order.

mod abbreviation;
mod calendar;
mod clock;
mod count;
mod engine;
mod measure;
mod money;
mod ratio;
mod roman;
mod series;
mod symbol;
mod web;

use engine::Rule;

/// Marks the capitals after it as letters to be named one by one. A private-use character, so no input has it.
pub(crate) const SPELL: char = '\u{E000}';

/// The ordered rules. Compiling the patterns takes a few milliseconds, so one set serves every request.
pub(crate) struct Rules {
    always: [Vec<Rule>; 2],
    numeric: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new() -> Self {
        let numeric = [clock::rules(), calendar::rules(), series::rules(), money::rules(), measure::rules()];
        let late = [abbreviation::rules(), roman::rules(), ratio::rules(), count::rules(), symbol::rules()];
        Self {
            always: [web::rules().into_iter().chain(abbreviation::before_numbers()).collect(), late.into_iter().flatten().collect()],
            numeric: numeric.into_iter().flatten().collect(),
        }
    }

    /// The sentence with numbers, dates, amounts, abbreviations, addresses and symbols written as words.
    pub(crate) fn expand(&self, sentence: &str) -> String {
        let mut text = engine::apply(&self.always[0], sentence.to_owned());
        if text.bytes().any(|b| b.is_ascii_digit()) {
            text = engine::apply(&self.numeric, text);
        }
        engine::apply(&self.always[1], text)
    }
}
