//! A stand-in for the text tokenizer: byte-level pairs of the published number, with the published ids where something depends on them.
//!
//! It reads any text. Words come out in pieces of two or three letters, so a prompt is about twice as long as with the real vocabulary;
//! the ids mean nothing. A real `vocab.json` and `merges.txt` may be put in its place.

use std::collections::HashSet;

use omni_plugin_api::TextFile;
use serde_json::{Map, Value, json};

/// Tokens before the added ones.
const SIZE: usize = 151_643;
/// Words that must be one token, and the id that the published vocabulary gives them.
const WHOLE: [(&str, usize); 2] = [("assistant", 77_091), ("user", 872)];
/// What words are made of; the mark is a space before a word.
const LETTERS: &str = "Ġetaoinshrdlucmfwypvbgkjqxz";
/// Added tokens that a prompt is built with; the numbers between them are unused.
const ADDED: [(u32, &str); 10] = [
    (151_643, "<|endoftext|>"),
    (151_644, "<|im_start|>"),
    (151_645, "<|im_end|>"),
    (151_669, "<|audio_start|>"),
    (151_670, "<|audio_end|>"),
    (151_671, "<tts_pad>"),
    (151_672, "<tts_text_bos>"),
    (151_673, "<tts_text_eod>"),
    (151_674, "<tts_text_bos_single>"),
    (151_675, "<|audio_pad|>"),
];

/// A token made of two others.
type Merge = (String, String);

/// `vocab.json`, `merges.txt` and `tokenizer_config.json`.
pub fn files() -> Vec<TextFile> {
    let bytes = byte_letters();
    let merges = merges(SIZE - bytes.len());
    let file = |path: &str, content: String| TextFile { path: path.to_owned(), content };
    vec![
        file("vocab.json", Value::Object(numbered(&bytes, &merges)).to_string()),
        file("merges.txt", listed(&merges)),
        file("tokenizer_config.json", format!("{:#}\n", tokenizer_config())),
    ]
}

/// The letter that stands for each byte: printable ones for themselves, the others from U+0100 on. In the order of their ids.
fn byte_letters() -> Vec<char> {
    let is_printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let printable = (0..=255_u8).filter(is_printable).map(char::from);
    let hidden = (0..=255_u8).filter(|byte| !is_printable(byte)).count() as u32;
    printable.chain((0..hidden).filter_map(|number| char::from_u32(0x100 + number))).collect()
}

/// So many merges: those of the whole words, then all pieces of two, three and four letters until there are enough.
fn merges(count: usize) -> Vec<Merge> {
    let mut merges: Vec<Merge> = WHOLE.iter().flat_map(|(word, _)| chain(word)).collect();
    let mut known: HashSet<String> = merges.iter().map(joined).collect();
    let mut shorter: Vec<String> = LETTERS.chars().map(String::from).collect();
    while merges.len() < count {
        let longer: Vec<Merge> =
            shorter.iter().flat_map(|piece| LETTERS.chars().map(|letter| (piece.clone(), letter.to_string()))).collect();
        shorter = longer.iter().map(joined).collect();
        let new = longer.into_iter().filter(|merge| known.insert(joined(merge)));
        let wanted = count - merges.len();
        merges.extend(new.take(wanted));
    }
    merges
}

/// The merges that make one token of a word, letter by letter.
fn chain(word: &str) -> Vec<Merge> {
    let at = |end: usize| word.chars().take(end).collect::<String>();
    word.chars().enumerate().skip(1).map(|(end, letter)| (at(end), letter.to_string())).collect()
}

fn joined(merge: &Merge) -> String {
    format!("{}{}", merge.0, merge.1)
}

/// Every token with its id: bytes first, then merges, with the whole words where they belong.
fn numbered(bytes: &[char], merges: &[Merge]) -> Map<String, Value> {
    let mut tokens: Vec<String> = bytes.iter().map(char::to_string).chain(merges.iter().map(joined)).collect();
    for (word, id) in WHOLE {
        if let Some(place) = tokens.iter().position(|token| token == word) {
            tokens.swap(place, id);
        }
    }
    tokens.into_iter().enumerate().map(|(id, token)| (token, json!(id))).collect()
}

fn listed(merges: &[Merge]) -> String {
    let lines = merges.iter().map(|(left, right)| format!("{left} {right}\n"));
    std::iter::once("#version: 0.2\n".to_owned()).chain(lines).collect()
}

fn tokenizer_config() -> Value {
    let token =
        |text: &str| json!({"content": text, "lstrip": false, "normalized": false, "rstrip": false, "single_word": false, "special": true});
    let added: Map<_, _> = ADDED.iter().map(|(id, text)| (id.to_string(), token(text))).collect();
    json!({
        "add_bos_token": false, "add_prefix_space": false, "added_tokens_decoder": added, "bos_token": null,
        "clean_up_tokenization_spaces": false, "eos_token": "<|im_end|>", "errors": "replace", "model_max_length": 131_072,
        "pad_token": "<|endoftext|>", "split_special_tokens": false, "tokenizer_class": "Qwen2Tokenizer", "unk_token": null,
    })
}
