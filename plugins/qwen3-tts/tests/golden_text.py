"""Excerpts of the Qwen byte-pair vocabulary: small enough to keep, equal to the whole one on chosen texts."""

import json
from pathlib import Path

from tokenizers import Tokenizer
from transformers import Qwen2TokenizerFast
from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode

# What a speech checkpoint needs of the tokens that are added to the vocabulary.
ADDED = {
    151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>", 151669: "<|audio_start|>", 151670: "<|audio_end|>",
    151671: "<tts_pad>", 151672: "<tts_text_bos>", 151673: "<tts_text_eod>", 151674: "<tts_text_bos_single>", 151675: "<|audio_pad|>",
}


class Whole:
    """The whole vocabulary, from the `tokenizer.json` of a published package."""

    def __init__(self, path):
        self.document = json.loads(Path(path).read_text(encoding="utf-8"))
        self.vocab = self.document["model"]["vocab"]
        merges = self.document["model"]["merges"]
        self.merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
        self.added = {**{token["id"]: token["content"] for token in self.document["added_tokens"]}, **ADDED}

    def cut(self, vocab, merges):
        """The package's own tokenizer with this vocabulary instead. Added tokens sit in it with their numbers, which the library
        would else choose anew."""
        flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
        model = {**self.document["model"], "vocab": {**vocab, **{text: n for n, text in self.added.items()}}, "merges": merges}
        added = [{"id": number, "content": text, **flags} for number, text in sorted(self.added.items())]
        return Tokenizer.from_str(json.dumps({**self.document, "model": model, "added_tokens": added}))

    def excerpt(self, texts):
        """The byte tokens and every merge whose result occurs in `texts`: no other can take part in reading them."""
        letters = bytes_to_unicode()
        spelled = ["".join(letters[byte] for byte in text.encode()) for text in texts]
        merges = [merge for merge in self.merges if any("".join(merge) in text for text in spelled)]
        tokens = [*letters.values(), *("".join(merge) for merge in merges)]
        return {token: self.vocab[token] for token in dict.fromkeys(tokens)}, merges


def write(folder, vocab, merges, added):
    """The three tokenizer files of a published checkpoint."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ordered = dict(sorted(vocab.items(), key=lambda item: item[1]))
    (folder / "vocab.json").write_text(json.dumps(ordered, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(merge) for merge in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    config = {
        "add_bos_token": False, "add_prefix_space": False, "bos_token": None, "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>", "errors": "replace", "model_max_length": 131072, "pad_token": "<|endoftext|>",
        "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer", "unk_token": None,
        "added_tokens_decoder": {str(number): {"content": text, **flags} for number, text in sorted(added.items())},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def dense(vocab, merges):
    """The same tokens numbered from 0 in their old order, and the added ones after them. Returns vocab, added, old id to new."""
    old = sorted(vocab.items(), key=lambda item: item[1])
    renumbered = {token: number for number, (token, _) in enumerate(old)}
    added = {len(old) + n: text for n, (_, text) in enumerate(sorted(ADDED.items()))}
    ids = {number: renumbered[token] for token, number in old}
    ids.update(zip(sorted(ADDED), sorted(added)))
    return renumbered, added, ids


def load(folder):
    """The package's own tokenizer, without the flag that swaps the split pattern."""
    return Qwen2TokenizerFast.from_pretrained(str(folder))
