//! Readings the lexicon lacks and number words, abbreviations and everyday texts need.

const EXTRA: &[(&str, &str)] = &[
    ("cetera", "sˈɛTəɹə"),
    ("miz", "mˈɪz"),
    ("et", "ˈɛt"),
    ("plugin", "plˈʌɡˌɪn"),
    ("plugins", "plˈʌɡˌɪnz"),
    ("emoji", "ɪmˈOʤi"),
    ("kibibytes", "kˈɪbəbˌIts"),
    ("mebibytes", "mˈɛbəbˌIts"),
    ("gibibytes", "ɡˈɪbəbˌIts"),
    ("json", "ʤˈAsən"),
    ("zoe", "zˈOi"),
    ("chloe", "klˈOi"),
    ("non", "nˌɑn"),
    ("readme", "ɹˈidmˌi"),
    ("linux", "lˈɪnəks"),
    ("github", "ɡˈɪthˌʌb"),
];

/// The reading of a word, whatever its case.
pub(crate) fn reading(word: &str) -> Option<&'static str> {
    EXTRA.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, phonemes)| *phonemes)
}
