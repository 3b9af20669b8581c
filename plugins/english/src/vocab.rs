//! The model's phoneme alphabet.

/// Every character the embedded voice has an embedding for.
const ALPHABET: &str =
    ";:,.!?—…\"()“” \u{303}ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ";

/// Whether the model knows the character.
pub(crate) fn knows(c: char) -> bool {
    ALPHABET.contains(c)
}

/// Phonemes of one word in the model's alphabet: the flap and the glottal stop as the voice learnt them, no marks.
pub(crate) fn adapt(phonemes: &str) -> String {
    phonemes
        .chars()
        .map(|c| match c {
            'ɾ' => 'T',
            'ʔ' => 't',
            'g' => 'ɡ',
            'ʀ' => 'ɹ',
            c => c,
        })
        .filter(|c| knows(*c) && !is_mark(*c))
        .collect()
}

/// Whether any character of it makes a sound.
pub(crate) fn sounds(phonemes: &str) -> bool {
    phonemes.chars().any(|c| knows(c) && !is_mark(c) && !" ˈˌː".contains(c))
}

/// Punctuation and melody marks.
pub(crate) fn is_mark(c: char) -> bool {
    ";:,.!?—…\"()“”↓→↗↘".contains(c)
}
