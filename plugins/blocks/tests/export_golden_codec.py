#!/usr/bin/env python3
"""Writes tests/golden: what the codec, the speaker encoder and the mel front end must compute, from the published package.

    python3 -m venv venv && venv/bin/pip install torch==2.8.0 torchaudio==2.8.0 transformers==4.57.3 accelerate==1.12.0 \\
        librosa==0.11.0 soundfile==0.14.0 einops==0.8.2 onnxruntime==1.32.0 sox==1.4.1 safetensors==0.8.0
    venv/bin/pip install --no-deps qwen-tts==0.1.1
    venv/bin/python plugins/blocks/tests/export_golden_codec.py

The package is built at tiny configs in f32 on the CPU with eager attention. See golden/README.md for names and shapes.
"""

import json
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import torch
from qwen_tts.core.models.configuration_qwen3_tts import Qwen3TTSSpeakerEncoderConfig
from qwen_tts.core.models.modeling_qwen3_tts import Qwen3TTSSpeakerEncoder, mel_spectrogram
from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model
from transformers.models.mimi import modeling_mimi

sys.path.insert(0, str(Path(__file__).parent))
from golden_kit import dump, randomise, record, save, signal, write  # noqa: E402

GOLDEN = Path(__file__).parent / "golden"
RATE = 24000
CODEBOOK, GROUPS = 64, 4

DECODER = {
    "latent_dim": 32, "codebook_dim": 16, "codebook_size": CODEBOOK, "decoder_dim": 32, "hidden_size": 16, "intermediate_size": 40,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8, "hidden_act": "silu",
    "attention_bias": False, "attention_dropout": 0.0, "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000,
    "num_quantizers": GROUPS, "num_semantic_quantizers": 1, "semantic_codebook_size": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000,
    "sliding_window": 6, "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2], "vector_quantization_hidden_dimension": 16,
}
ENCODER = {
    "model_type": "mimi", "_frame_rate": 12.5, "sampling_rate": RATE, "audio_channels": 1, "num_filters": 2, "kernel_size": 7,
    "last_kernel_size": 3, "residual_kernel_size": 3, "num_residual_layers": 1, "dilation_growth_rate": 2, "compress": 2,
    "upsampling_ratios": [8, 6, 5, 4], "use_causal_conv": True, "use_conv_shortcut": False, "pad_mode": "constant",
    "trim_right_ratio": 1.0, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
    "head_dim": 8, "intermediate_size": 56, "hidden_act": "gelu", "norm_eps": 1e-5, "layer_scale_initial_scale": 0.01,
    "rope_theta": 10000.0, "max_position_embeddings": 8000, "sliding_window": 6, "attention_bias": False, "attention_dropout": 0.0,
    "initializer_range": 0.02, "normalize": False, "use_cache": False, "use_streaming": False, "upsample_groups": 24,
    "num_quantizers": 6, "num_semantic_quantizers": 1, "codebook_size": CODEBOOK, "codebook_dim": 12,
    "vector_quantization_hidden_dimension": 12, "dtype": "float32",
}
CODEC = {
    "architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz", "encoder_valid_num_quantizers": GROUPS,
    "input_sample_rate": RATE, "output_sample_rate": RATE, "encode_downsample_rate": 1920, "decode_upsample_rate": 1920,
    "decoder_config": DECODER, "encoder_config": ENCODER,
}
PREPROCESSOR = {
    "chunk_length_s": None, "feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "overlap": None,
    "padding_side": "right", "padding_value": 0.0, "return_attention_mask": True, "sampling_rate": RATE,
}
SPEAKER = {
    "mel_dim": 128, "enc_dim": 32, "enc_channels": [16, 16, 16, 16, 48], "enc_kernel_sizes": [5, 3, 3, 3, 1],
    "enc_dilations": [1, 2, 3, 4, 1], "enc_attention_channels": 12, "enc_res2net_scale": 8, "enc_se_channels": 10,
    "sample_rate": RATE,
}
CODEC_SEED, SPEAKER_SEED = 12, 7


def build_codec(config):
    """The package's codec with eager attention in f32."""
    parsed = Qwen3TTSTokenizerV2Config(**json.loads(json.dumps(config)))
    for part in (parsed, parsed.encoder_config, parsed.decoder_config):
        part._attn_implementation = "eager"
    return Qwen3TTSTokenizerV2Model(parsed).eval().float()


def unclamped(decoder, codes):
    """One-shot PCM of `codes` [frames, groups] before the clamp, with the named points on the way, without the batch axis."""
    points = {}
    hooks = [
        record(decoder.pre_conv, points, "pre_conv"),
        record(decoder.pre_transformer, points, "pre_transformer", lambda output: output.last_hidden_state),
        *(record(stage[-1], points, f"upsample.{n}") for n, stage in enumerate(decoder.upsample)),
        *(record(block, points, f"block.{n}") for n, block in enumerate(decoder.decoder)),
    ]
    with torch.no_grad():
        quantised = decoder.quantizer.decode(codes.T[None])
        decoder(codes.T[None])
    for hook in hooks:
        hook.remove()
    points = {name: value[0][0] for name, value in points.items()}
    points["quantised"] = quantised[0]
    pcm = points.pop(f"block.{len(decoder.decoder) - 1}")[0]
    return pcm, points


def with_window(window, run):
    """Runs `run` with the encoder's attention limited to keys less than `window` positions back, as transformers 5 does."""
    full = modeling_mimi.create_causal_mask

    def windowed(**arguments):
        mask = full(**arguments)
        positions = torch.arange(mask.shape[-1])
        far = positions[:, None] - positions[None, :] >= window
        return mask.masked_fill(far, torch.finfo(mask.dtype).min)

    modeling_mimi.create_causal_mask = windowed
    try:
        return run()
    finally:
        modeling_mimi.create_causal_mask = full


def encode(encoder, audio):
    """All codes [frames, quantisers] of `audio` [samples] and the points on the way."""
    points = {}
    hooks = [
        record(encoder.encoder, points, "convolved"),
        record(encoder.encoder_transformer, points, "transformed", lambda output: output[0]),
        record(encoder.downsample, points, "downsampled"),
    ]
    with torch.no_grad():
        codes = encoder.encode(audio[None, None], return_dict=True).audio_codes[0].T
    for hook in hooks:
        hook.remove()
    return codes, {name: value[0][0] for name, value in points.items()}


def closest_call(encoder, latent):
    """The least distance, relative to the best one, by which any code of `latent` [hidden, frames] wins against the second best."""
    least = float("inf")
    with torch.no_grad():
        for quantizer in (encoder.quantizer.semantic_residual_vector_quantizer, encoder.quantizer.acoustic_residual_vector_quantizer):
            residual = quantizer.input_proj(latent[None])[0].T
            for layer in quantizer.layers:
                distances = torch.cdist(residual[None].double(), layer.codebook.embed[None].double())[0]
                best = distances.topk(2, largest=False).values
                least = min(least, float(((best[:, 1] - best[:, 0]) / best[:, 1]).min()))
                residual = residual - layer.codebook.embed[distances.argmin(-1)]
    return least


def scale_of_codec(name):
    """Factors that keep the waveform near a tenth of full scale and every residual in reach of its codebook."""
    if name.startswith("encoder.encoder"):
        return 1.3 if name.endswith("conv.weight") else 1.0
    if name.startswith(f"decoder.decoder.{len(DECODER['upsample_rates']) + 2}."):
        return 0.15
    return 0.8 if name.startswith("decoder.decoder.") and name.endswith("conv.weight") else 1.0


def export_codec():
    folder = GOLDEN / "qwen12hz"
    dump(folder / "config.json", CODEC)
    dump(folder / "preprocessor_config.json", PREPROCESSOR)
    codec = build_codec(CODEC)
    write(folder / "model.safetensors", randomise(codec, CODEC_SEED, scale=scale_of_codec))

    codes = torch.randint(0, CODEBOOK, (17, GROUPS), generator=torch.Generator().manual_seed(1))
    codes[5, 0] = 3  # the row whose usage is below the floor
    pcm, points = unclamped(codec.decoder, codes)
    loudest = float(pcm.abs().max())
    if not 0.02 < float(pcm.std()) or loudest > 0.98:
        raise SystemExit(f"the waveform has deviation {float(pcm.std())} and peak {loudest}: too quiet or clamped")
    golden = {"decode.codes": codes, "decode.pcm": pcm}
    # The long maps would fill the file; their first and last positions tell as much.
    ends = {name: value if value.shape[-1] <= 4 * len(codes) else torch.cat([value[:, :96], value[:, -96:]], 1)
            for name, value in points.items()}
    golden.update({f"decode.{name}": value for name, value in ends.items()})

    for name, samples in (("encode", 12345), ("encode_aligned", 4 * 1920), ("encode_short", 700)):
        audio = signal(samples, RATE, seed=samples)
        for suffix, run in (("", lambda: encode(codec.encoder, audio)),
                            ("_windowed", lambda: with_window(ENCODER["sliding_window"], lambda: encode(codec.encoder, audio)))):
            all_codes, points = run()
            margin = closest_call(codec.encoder, points["downsampled"])
            print(f"{name}{suffix}: {list(all_codes.shape)}, closest call {margin:.5f}")
            if margin < 2e-4:
                raise SystemExit("two codes are too close to call in f32: choose another signal")
            golden[f"{name}.codes{suffix}"] = all_codes
            if name == "encode":
                after = {point: value for point, value in points.items() if not suffix or point != "convolved"}
                golden.update({f"{name}.{point}{suffix}": value for point, value in after.items()})
        mask = torch.ones(1, samples, dtype=torch.long)
        with torch.no_grad():
            kept = codec.encode(audio[None], mask, return_dict=True).audio_codes[0]
        assert torch.equal(kept, golden[f"{name}.codes"][:, :GROUPS]), "the wrapper keeps the first quantisers"
        golden[f"{name}.audio"] = audio
    save(folder / "golden.safetensors", golden)


def mel(audio):
    """Log mel spectrogram [frames, 128] as the speaker encoder takes it."""
    return mel_spectrogram(audio[None], n_fft=1024, num_mels=128, sampling_rate=RATE, hop_size=256, win_size=1024,
                           fmin=0, fmax=12000)[0].T.contiguous()


def export_speaker():
    folder = GOLDEN / "ecapa"
    config = Qwen3TTSSpeakerEncoderConfig(**SPEAKER)
    encoder = Qwen3TTSSpeakerEncoder(config).eval().float()
    dump(folder / "config.json", SPEAKER)
    write(folder / "model.safetensors", randomise(encoder, SPEAKER_SEED, scale=lambda name: 1.2))
    golden = {}
    for name, samples in (("long", 7000), ("short", 1536)):
        audio = signal(samples, RATE, seed=samples)
        points = {}
        hooks = [record(block, points, f"block.{n}") for n, block in enumerate(encoder.blocks)]
        hooks += [record(encoder.mfa, points, "mfa"), record(encoder.asp, points, "pooled")]
        with torch.no_grad():
            vector = encoder(mel(audio)[None])[0]
        for hook in hooks:
            hook.remove()
        golden.update({f"{name}.audio": audio, f"{name}.mel": mel(audio), f"{name}.vector": vector})
        golden.update({f"{name}.{point}": value[0][0] for point, value in points.items()})
    save(folder / "golden.safetensors", golden)


if __name__ == "__main__":
    torch.set_num_threads(1)
    export_codec()
    export_speaker()
