//! Pronounced tokens into units short enough for the model.

use crate::lexicon::spaced;
use crate::token::Token;
use crate::{MAX_PHONEMES, Unit, vocab};

/// A token with its phonemes and whether a space follows.
struct Sound {
    phonemes: String,
    shown: String,
    spaced: bool,
    pause: bool,
}

/// One unit if the sentence fits, else parts of about equal length.
pub(crate) fn units(tokens: &[Token], phonemes: Vec<String>) -> Vec<Unit> {
    let sounds: Vec<Sound> =
        tokens.iter().zip(phonemes).enumerate().flat_map(|(i, (token, phonemes))| sounds(token, phonemes, spaced(tokens, i))).collect();
    let mut out = Vec::new();
    divide(&sounds, &mut out);
    out
}

/// One sound a token; a word beyond the limit comes in several, cut between its parts.
fn sounds(token: &Token, phonemes: String, spaced: bool) -> Vec<Sound> {
    let pause = matches!(token, Token::Mark(mark) if ",;:—…)".contains(*mark));
    if phonemes.chars().count() <= MAX_PHONEMES / 2 {
        return vec![Sound { phonemes, shown: token.shown(), spaced, pause }];
    }
    let letters: Vec<char> = phonemes.chars().collect();
    let mut parts: Vec<Sound> = letters
        .chunks(MAX_PHONEMES / 2)
        .map(|part| Sound { phonemes: part.iter().collect::<String>().trim().to_owned(), shown: String::new(), spaced: true, pause })
        .collect();
    parts[0].shown = token.shown();
    parts
}

fn divide(sounds: &[Sound], out: &mut Vec<Unit>) {
    let lengths: Vec<usize> = sounds.iter().map(|sound| sound.phonemes.chars().count() + usize::from(sound.spaced)).collect();
    let total: usize = lengths.iter().sum();
    // One place is kept for a final mark.
    if total < MAX_PHONEMES || sounds.len() < 2 {
        out.extend(unit(sounds));
        return;
    }
    let middle = cut(sounds, &lengths, total);
    divide(&sounds[..middle], out);
    hold(out.last_mut());
    divide(&sounds[middle..], out);
}

/// A comma at the end of a part that stops in mid sentence keeps the voice up.
fn hold(part: Option<&mut Unit>) {
    if let Some(Unit::Speech { phonemes, .. }) = part
        && !phonemes.ends_with(|c: char| vocab::is_mark(c))
    {
        phonemes.push(',');
    }
}

/// The cut nearest the middle: behind a mark if one lies in the middle half, else behind a word.
fn cut(sounds: &[Sound], lengths: &[usize], total: usize) -> usize {
    let mut best = [(usize::MAX, 1), (usize::MAX, 1)];
    let mut done = 0;
    for i in 0..sounds.len() - 1 {
        done += lengths[i];
        let distance = done.abs_diff(total / 2);
        let kind = if sounds[i].pause && distance <= total / 4 { 0 } else { 1 };
        let allowed = sounds[i].spaced && distance < best[kind].0;
        if allowed {
            best[kind] = (distance, i + 1);
        }
    }
    let [clause, word] = best;
    if clause.0 < usize::MAX { clause.1 } else { word.1 }
}

fn unit(sounds: &[Sound]) -> Option<Unit> {
    let join = |part: fn(&Sound) -> &str| {
        let mut out = String::new();
        for sound in sounds {
            out.push_str(part(sound));
            if sound.spaced && !part(sound).is_empty() {
                out.push(' ');
            }
        }
        out.trim_end().to_owned()
    };
    let phonemes = join(|sound| &sound.phonemes);
    vocab::sounds(&phonemes).then(|| Unit::Speech { phonemes, text: join(|sound| &sound.shown) })
}
