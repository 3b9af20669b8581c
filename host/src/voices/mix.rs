//! Voices made of voices: `anne(2)+bob` is two thirds Anne and one third Bob, by their speaker vectors.

/// Most voices in a mixture.
const MAX_PARTS: usize = 16;

/// A voice of a mixture and its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The voice.
    pub voice: String,
    /// Its weight, as given.
    pub weight: f32,
}

/// Why a mixture cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MixError {
    /// There are too many voices.
    #[error("a mixture has {MAX_PARTS} voices at most, found {0}")]
    TooMany(usize),
    /// A weight is none.
    #[error("the weight of '{voice}' must be a number above 0, found '{weight}'")]
    Weight {
        /// The voice.
        voice: String,
        /// What was given.
        weight: String,
    },
    /// A voice has no name.
    #[error("a voice of the mixture has no name")]
    NoName,
    /// Two vectors differ in length.
    #[error("the vector of '{voice}' has {found} numbers and that of the first voice {expected}")]
    Lengths {
        /// The voice.
        voice: String,
        /// The length of its vector.
        found: usize,
        /// The length of the first vector.
        expected: usize,
    },
}

/// Reads a mixture. None if the text is a plain name.
pub fn parse(text: &str) -> Option<Result<Vec<Part>, MixError>> {
    let is_weighted = |part: &str| part.trim_end().ends_with(')') && part.contains('(');
    let parts: Vec<&str> = text.split('+').collect();
    if parts.len() < 2 && !is_weighted(text) {
        return None;
    }
    if parts.len() > MAX_PARTS {
        return Some(Err(MixError::TooMany(parts.len())));
    }
    Some(parts.into_iter().map(part).collect())
}

fn part(text: &str) -> Result<Part, MixError> {
    let text = text.trim();
    let weighted = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let (voice, weight) = weighted.map_or((text, "1"), |(voice, weight)| (voice.trim(), weight.trim()));
    if voice.is_empty() {
        return Err(MixError::NoName);
    }
    let number = weight.parse::<f32>().ok().filter(|weight| weight.is_finite() && *weight > 0.0);
    let wrong = || MixError::Weight { voice: voice.to_owned(), weight: weight.chars().take(40).collect() };
    Ok(Part { voice: voice.to_owned(), weight: number.ok_or_else(wrong)? })
}

/// The weighted mean of the vectors of the parts.
pub fn mix(parts: &[Part], vectors: &[Vec<f32>]) -> Result<Vec<f32>, MixError> {
    let expected = vectors.first().map_or(0, Vec::len);
    let total: f64 = parts.iter().map(|part| f64::from(part.weight)).sum();
    let mut mean = vec![0.0_f64; expected];
    for (part, vector) in parts.iter().zip(vectors) {
        if vector.len() != expected {
            return Err(MixError::Lengths { voice: part.voice.clone(), found: vector.len(), expected });
        }
        let share = f64::from(part.weight) / total;
        mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += share * f64::from(*value));
    }
    Ok(mean.into_iter().map(|value| value as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, f32)> {
        let parts = parse(text).expect("a mixture").expect("a right one");
        parts.into_iter().map(|part| (part.voice, part.weight)).collect()
    }

    #[test]
    fn weights_stand_in_brackets_and_are_one_where_none_is_given() {
        assert_eq!(parsed("a(2)+b(1)"), [("a".to_owned(), 2.0), ("b".to_owned(), 1.0)]);
        assert_eq!(parsed(" Anne ( 0.5 ) + Bob"), [("Anne".to_owned(), 0.5), ("Bob".to_owned(), 1.0)]);
        assert_eq!(parsed("a (left)(3)"), [("a (left)".to_owned(), 3.0)]);
        assert!(parse("anne").is_none() && parse("anne (old").is_none());
    }

    #[test]
    fn wrong_mixtures_are_told() {
        for (text, part) in
            [("a(0)+b", "above 0"), ("a(x)+b", "found 'x'"), ("a(inf)", "above 0"), ("a(-1)+b", "above 0"), ("+b", "no name")]
        {
            let error = parse(text).expect("a mixture").expect_err("a wrong one");
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(parse(&vec!["a"; 17].join("+")), Some(Err(MixError::TooMany(17))));
    }

    #[test]
    fn a_mixture_is_the_weighted_mean() {
        let parts = parse("a(3)+b(1)").expect("a mixture").expect("a right one");
        assert_eq!(mix(&parts, &[vec![1.0, 0.0], vec![0.0, 4.0]]), Ok(vec![0.75, 1.0]));
        assert!(matches!(mix(&parts, &[vec![1.0], vec![0.0, 4.0]]), Err(MixError::Lengths { .. })));
    }
}
