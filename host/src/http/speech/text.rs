//! The text before a family sees it: markup cleaned away, control characters gone, something left to speak.

use omni_plugin_api::TextRules;

use crate::http::error::ApiError;
use crate::text::clean::clean;

/// Symbols that are read as words, so that a text of these alone is no silence.
const SPOKEN: &str = "&%‰@+=±×÷°√∞≈≠≤≥$¢£¤¥€₤₦₨₩₪₫₱₴₹₺₽₿§©®™№℃℉½¼¾";

/// The text to speak.
pub fn prepare(input: &str, rules: TextRules, clean_up: Option<bool>) -> Result<String, ApiError> {
    check_len(input, rules.max_chars)?;
    if input.trim().is_empty() {
        return Err(ApiError::invalid("input", "Input text cannot be empty"));
    }
    let text = without_controls(input);
    let text = if clean_up.unwrap_or(rules.clean_up) { clean(&text) } else { text };
    if !text.chars().any(is_spoken) {
        let message =
            "Input text holds nothing to speak: no letter, digit or spoken symbol is left once marks, markup and emoji are removed";
        return Err(ApiError::invalid("input", message));
    }
    Ok(text)
}

fn check_len(input: &str, max_chars: usize) -> Result<(), ApiError> {
    let count = input.chars().count();
    if count <= max_chars {
        return Ok(());
    }
    Err(ApiError::invalid("input", format!("Input text is too long: {count} characters, this model takes at most {max_chars}")))
}

/// Control characters say nothing; the ones that separate lines stay, others that separate become a space.
fn without_controls(text: &str) -> String {
    let kept = text.chars().filter_map(|letter| match letter {
        '\n' | '\r' | '\t' => Some(letter),
        _ if letter.is_control() && letter.is_whitespace() => Some(' '),
        _ => (!letter.is_control()).then_some(letter),
    });
    kept.collect()
}

fn is_spoken(letter: char) -> bool {
    letter.is_alphanumeric() || SPOKEN.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TextRules = TextRules { clean_up: false, max_chars: 20 };

    #[test]
    fn controls_vanish() {
        for text in ["Hello\u{0} world.", "Hello \u{7}world.", "Hello world.\u{0}"] {
            assert_eq!(prepare(text, RULES, None), Ok("Hello world.".to_owned()));
        }
        assert_eq!(prepare("a\nb\u{b}c", RULES, None), Ok("a\nb c".to_owned()));
    }

    #[test]
    fn a_text_without_words_is_refused_by_name() {
        for text in
            ["", " \n\u{3000}", "…", "—", "*", "()", "!?!?", "\"\"", "😀", "👩\u{200D}👩", "❤\u{FE0F}", "🇩🇪", "\u{1}\u{7}", "\u{200B}"]
        {
            let error = prepare(text, RULES, None).expect_err("it is refused");
            assert_eq!((error.status().as_u16(), &error.body()["error"]["param"]), (400, &"input".into()), "{text:?}");
        }
    }

    #[test]
    fn any_script_digit_or_spoken_symbol_will_do() {
        for text in ["8...", "梨子", "привет", "नमस्ते", "٣", "€", "+", "½"] {
            assert_eq!(prepare(text, RULES, None).as_deref(), Ok(text));
        }
    }

    #[test]
    fn the_length_is_counted_in_characters() {
        assert!(prepare(&"ü".repeat(20), RULES, None).is_ok());
        let error = prepare(&"ü".repeat(21), RULES, None).expect_err("it is refused");
        assert!(error.message().contains("21 characters") && error.message().contains("at most 20"), "{error}");
    }
}
