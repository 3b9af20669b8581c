//! Byte-level BPE as the Qwen models have it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

/// How Qwen2 cuts text into words: contractions, words with one mark before them, single digits, runs of marks, line ends, blanks.
const QWEN2_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Why a tokenizer cannot be made or a text not be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// A file of the tokenizer is missing or wrong.
    #[error("the tokenizer's '{file}' cannot be used: {reason}")]
    File {
        /// Its name.
        file: String,
        /// Why.
        reason: String,
    },
    /// A special token that the family needs is not in the files.
    #[error("the tokenizer has no token '{0}'")]
    NoSpecial(String),
    /// The text cannot be cut into tokens.
    #[error("the text cannot be tokenized: {0}")]
    Encode(String),
}

/// A tokenizer whose special tokens can be named, and never come out of text: `<|im_end|>` in what somebody wrote is ten characters.
pub struct Bpe {
    words: Tokenizer,
    specials: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    added_tokens_decoder: BTreeMap<String, Added>,
}

#[derive(Deserialize)]
struct Added {
    content: String,
}

impl Bpe {
    /// Builds the tokenizer of a checkpoint directory from `vocab.json`, `merges.txt` and the added tokens of `tokenizer_config.json`.
    pub fn open(directory: &Path) -> Result<Self, TextError> {
        let words = words(directory)?;
        let file = "tokenizer_config.json";
        let wrong = |reason: String| TextError::File { file: file.to_owned(), reason };
        let text = std::fs::read_to_string(directory.join(file)).map_err(|error| wrong(error.to_string()))?;
        let settings: Settings = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let specials = settings.added_tokens_decoder.into_iter().map(|(id, added)| {
            let id = id.parse().map_err(|_| wrong(format!("'{id}' is not the number of a token")))?;
            Ok((added.content, id))
        });
        Ok(Self { words, specials: specials.collect::<Result<_, _>>()? })
    }

    /// The tokens of a text, none of them special.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let encoding = self.words.encode_fast(text, false).map_err(|error| TextError::Encode(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The id of a special token.
    pub fn special(&self, name: &str) -> Result<u32, TextError> {
        self.specials.get(name).copied().ok_or_else(|| TextError::NoSpecial(name.to_owned()))
    }
}

fn words(directory: &Path) -> Result<Tokenizer, TextError> {
    let wrong = |file: &str, reason: String| TextError::File { file: file.to_owned(), reason };
    let path = |file: &str| match directory.join(file) {
        path if !path.is_file() => Err(wrong(file, "it is not there".to_owned())),
        path => path.into_os_string().into_string().map_err(|_| wrong(file, "its path is not UTF-8".to_owned())),
    };
    let files = BPE::from_file(&path("vocab.json")?, &path("merges.txt")?);
    let bpe = files.build().map_err(|error| wrong("vocab.json and merges.txt", error.to_string()))?;
    let split = Split::new(SplitPattern::Regex(QWEN2_WORDS.to_owned()), SplitDelimiterBehavior::Isolated, false);
    let split = split.map_err(|error| TextError::Encode(error.to_string()))?;
    let parts = vec![PreTokenizerWrapper::Split(split), PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, false, false))];
    let mut tokenizer = Tokenizer::new(bpe);
    tokenizer.with_normalizer(Some(NFC)).with_pre_tokenizer(Some(Sequence::new(parts)));
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tokenizer of the 256 bytes and a few merges.
    fn bpe() -> Bpe {
        let directory = tempfile::tempdir().expect("a directory");
        let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
        alphabet.sort_unstable();
        let merged = ["ab", "abc", "Ġa"];
        let tokens = alphabet.iter().map(char::to_string).chain(merged.map(str::to_owned));
        let vocab: BTreeMap<String, usize> = tokens.zip(0..).collect();
        let write = |file: &str, text: String| std::fs::write(directory.path().join(file), text).expect("it is written");
        write("vocab.json", serde_json::to_string(&vocab).expect("JSON"));
        write("merges.txt", "#version: 0.2\na b\nab c\nĠ a\n".to_owned());
        write("tokenizer_config.json", r#"{"added_tokens_decoder": {"300": {"content": "<|im_start|>"}}}"#.to_owned());
        Bpe::open(directory.path()).expect("a tokenizer")
    }

    #[test]
    fn merges_apply_inside_words_and_specials_stay_text() {
        let bpe = bpe();
        assert_eq!(bpe.encode("abc").expect("ids"), [257]);
        // The first merge wins: " a" is never made where "ab" can be.
        let blank = bpe.encode(" ").expect("ids");
        assert_eq!(bpe.encode("abc abc").expect("ids"), [&[257], &blank[..], &[257]].concat());
        assert_eq!(bpe.encode("c a").expect("ids").last(), Some(&258));
        assert_eq!(bpe.special("<|im_start|>").expect("an id"), 300);
        assert!(bpe.special("<|im_end|>").is_err());
        let literal = bpe.encode("<|im_start|>").expect("ids");
        assert_eq!(literal.len(), 12);
        assert!(!literal.contains(&300));
    }

    #[test]
    fn composed_and_decomposed_letters_are_one() {
        let bpe = bpe();
        assert_eq!(bpe.encode("e\u{301}").expect("ids"), bpe.encode("\u{e9}").expect("ids"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = Bpe::open(directory.path()).err().expect("nothing there");
        assert_eq!(error.to_string(), "the tokenizer's 'vocab.json' cannot be used: it is not there");
    }
}
