#!/usr/bin/env python3
"""Writes the golden files of tests/golden: what the crate's modules must compute, from an independent numpy forward.

    pip install hibari-tts==0.2.1 numpy==2.4.6 scipy==1.17.1 onnx==1.23.2 onnxruntime==1.32.0 safetensors==0.8.0
    python tools/export_golden.py tests/golden

The reference is the graph of hibari.onnx with its weights de-quantised and every activation in f32 (the published
graph also quantises activations, which the port does not mirror), and the signal processing in f64. Both are checked
here against the package itself: durations within 2 frames of onnxruntime's, waveform against `hibari.dsp`.

Noise is the crate's own counter-based generator (`dsp/noise.rs`), written again below.
"""

import json
import sys
from math import sqrt
from pathlib import Path

import hibari
import numpy as np
import onnx
import onnxruntime
from hibari import dsp
from hibari.g2p.oov import OOV
from onnx import numpy_helper
from safetensors.numpy import save_file
from scipy.special import erf

ASSETS = Path(hibari.__file__).parent / "assets"
BINS, HOP, N_FFT, RATE = 601, 300, 1200, 24000

# name: phonemes, speed. `marks` holds rare symbols of the alphabet and one symbol outside it ("§").
CASES = {
    "word": ("həlˈO.", 1.0),
    "sentence": ("ðə bˈɜɹʧ kənˈu slˈɪd ˌɔn ðə smˈuð plˈæŋks, æt lˈæst.", 1.0),
    "fast": ("ðə bˈɜɹʧ kənˈu slˈɪd ˌɔn ðə smˈuð plˈæŋks, æt lˈæst.", 1.3),
    "marks": ("“zˈɪksᵻə” — ʔɑ§ːɹʲə… (ɲˈuʒ)!", 1.0),
}
# Letters the network knows and does not know, accents, digits, longer than its longest word, one letter.
WORDS = """kubernetes zyxoria plugin omni hibari Burn anthropic grpc nginx postgres xylophonist quixotry Worcestershire
naïve café jalapeño Zürich Dvořák fjord Łódź smörgåsbord façade São Nguyen Tchaikovsky Xiaomi Huawei ioctl mutex
tokenizer vectorise dequantise segfault kernelspace hyperparameter electroencephalograph floccinaucinihilipilification
pneumonoultramicroscopicsilicovolcanoconiosis a b z zz qqq mmm rhythm strengths aeiou Ångström Σίσυφος Москва
don't rock'n'roll x-ray e-mail C3PO R2D2 MP3 blah_blah supercalifragilisticexpialidocious Eyjafjallajökull
Llanfairpwllgwyngyll 東京 … 100""".split()


# --- network, f32 ---------------------------------------------------------------------------------------------------

def load(path):
    """Initialisers by name, de-quantised; and the dilation of each convolution by its weight's name."""
    graph = onnx.load(path).graph
    w = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for n in graph.node:
        if n.op_type == "MatMulInteger":
            base = n.input[1].removesuffix("_quantized")
            q, z, s = w[n.input[1]], w[base + "_zero_point"], w[base + "_scale"]
            w[base] = (q.astype(np.float32) - z.astype(np.float32)) * s
    dilation = {n.input[1]: next((a.ints[0] for a in n.attribute if a.name == "dilations"), 1)
                for n in graph.node if n.op_type == "Conv"}
    return w, dilation


W, DILATION = load(ASSETS / "hibari.onnx")


def gelu(x):
    return (0.5 * x * (1 + erf(x / np.float32(sqrt(2))))).astype(np.float32)


def layer_norm(x, name):
    centred = x - x.mean(-1, keepdims=True)
    var = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(var + np.float32(1e-5)) * W[name + ".weight"] + W[name + ".bias"]


def conv(x, name):
    """`x` [T, C]; same padding; depthwise when the weight has one input channel but `x` has more."""
    w, b, step = W[name + ".weight"], W[name + ".bias"], DILATION[name + ".weight"]
    kernel, depthwise = w.shape[2], w.shape[1] != x.shape[1]
    pad = (kernel - 1) // 2 * step
    padded = np.pad(x, ((pad, pad), (0, 0)))
    y = np.zeros((len(x), w.shape[0]), np.float32)
    for k in range(kernel):
        piece = padded[k * step:k * step + len(x)]
        y += piece * w[:, 0, k] if depthwise else piece @ w[:, :, k].T
    return y + b


def block(x, name, graph, suffix=""):
    h = layer_norm(conv(x, name + ".dw"), name + ".norm")
    h = gelu(h @ W[f"{graph}/pw1{suffix}/Transpose_output_0"] + W[name + ".pw1.bias"])
    h = h @ W[f"{graph}/pw2{suffix}/Transpose_output_0"] + W[name + ".pw2.bias"]
    return x + W[name + ".gamma"] * h


def attention(h, name, qkv, out):
    width = h.shape[1]
    head = width // 2
    mixed, projected = [], h @ W[qkv] + W[name + ".self_attn.in_proj_bias"]
    for i in range(2):
        q, k, v = (projected[:, j * width + i * head:j * width + (i + 1) * head] for j in range(3))
        a = q @ k.T / np.float32(sqrt(head))
        a = np.exp(a - a.max(-1, keepdims=True))
        mixed.append(a / a.sum(-1, keepdims=True) @ v)
    return np.concatenate(mixed, -1) @ W[out] + W[name + ".self_attn.out_proj.bias"]


def text(ids, name, qkv, passes, suffix, n):
    mat = lambda op: f"/{op}{n}/Transpose_output_0"
    x, layer = W[name + ".emb.weight"][ids], name + ".attn"
    for i in range(2):
        x = block(x, f"{name}.convs.{i}", f"/convs.{i}", suffix)
    for _ in range(passes):
        x = x + attention(layer_norm(x, layer + ".norm1"), layer, qkv, mat("out_proj"))
        h = gelu(layer_norm(x, layer + ".norm2") @ W[mat("linear1")] + W[layer + ".linear1.bias"])
        x = x + h @ W[mat("linear2")] + W[layer + ".linear2.bias"]
    return layer_norm(x, name + ".norm")


def forward(ids, speed):
    ids = np.asarray(ids)
    content = text(ids, "m.text", "/Transpose_2_output_0", 4, "", "")
    prosody = text(ids, "pn.text", "/Transpose_25_output_0", 6, "_1", "_4")
    log_dur = conv(gelu(conv(prosody, "pn.dur.0")), "pn.dur.2")[:, 0]
    dur = np.maximum(np.round((np.exp(log_dur) - 1) / np.float32(speed)), 1).astype(np.int32)
    at = np.repeat(np.arange(len(ids)), dur)
    h = conv(prosody[at], "pn.pro_in")
    for i in range(6):
        h = block(h, f"pn.pro.{i}", f"/pro.{i}")
    o = conv(h, "pn.pro_out").reshape(-1, 2, 2)
    f0, energy = o[:, 0].reshape(-1) * np.float32(100), o[:, 1].reshape(-1) * np.float32(5)
    x = np.repeat(content[at], 2, axis=0)
    pitch = np.log(1 + np.maximum(f0, 0)) / np.float32(5)
    x = np.concatenate([x, pitch[:, None], (energy / np.float32(5))[:, None]], 1).astype(np.float32)
    x = conv(x, "m.dec_in")
    for i in range(8):
        x = block(x, f"m.dec.{i}", f"/dec.{i}")
    spectra = layer_norm(x, "m.dec_norm") @ W["/head/Transpose_output_0"] + W["m.head.bias"]
    return {"text": content, "durations": dur, "f0": f0, "energy": energy, "spectra": spectra}


# --- noise ----------------------------------------------------------------------------------------------------------

def mix(x):
    """splitmix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def noise(seed, unit, frames):
    """Complex normal noise [frames, BINS], each part of variance 1."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    one = np.ones(1, np.uint64)
    key = mix(mix(one * np.uint64(seed) + golden) + one * np.uint64(unit))
    counter = np.arange(frames * BINS, dtype=np.uint64) + np.uint64(1)
    bits = mix(key + counter * golden)
    u1 = ((bits >> np.uint64(40)).astype(np.float64) + 0.5) / 2**24
    u2 = ((bits >> np.uint64(16)) & np.uint64(0xFFFFFF)).astype(np.float64) / 2**24
    return (np.sqrt(-2 * np.log(u1)) * np.exp(2j * np.pi * u2)).reshape(frames, BINS)


# --- signal processing, f64 -----------------------------------------------------------------------------------------

WINDOW = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)


def pulses(f0):
    """Band-limited pulse train: every harmonic below 11 kHz at amplitude 1; unvoiced below 40 Hz.

    The pitch between frames, and the number of harmonics it allows, are f32 as in the package: the number is a step
    function of the pitch."""
    f32 = np.float32
    place = (np.arange(len(f0) * HOP) + 0.5) / HOP - 0.5
    left = np.floor(place).astype(int)
    right_share = (place - left).astype(f32)
    at = lambda i: f0[np.clip(i, 0, len(f0) - 1)]
    pitch = at(left) * (f32(1) - right_share) + at(left + 1) * right_share
    voiced = pitch > 40
    pitch = np.maximum(pitch, f32(40))
    phase = np.modf(np.cumsum(pitch, dtype=np.float64) / RATE)[0] * 2 * np.pi
    harmonics = np.floor(f32(11000) / pitch).astype(np.float64) + 0.5
    s = 2 * np.sin(phase / 2)
    peak = np.abs(s) <= 2e-3
    train = np.where(peak, harmonics, np.sin(harmonics * phase) / np.where(peak, 1, s)) - 0.5
    return np.where(voiced, train, 0)


def stft(x, frames):
    padded = np.pad(x, N_FFT // 2, mode="reflect")
    pieces = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP][:frames]
    return np.fft.rfft(pieces * WINDOW / (N_FFT / 4))


def istft(spectrum):
    frames = len(spectrum)
    y, weight = (np.zeros((frames + 3) * HOP) for _ in range(2))
    for i, piece in enumerate(np.fft.irfft(spectrum, N_FFT) * WINDOW):
        y[i * HOP:i * HOP + N_FFT] += piece
        weight[i * HOP:i * HOP + N_FFT] += WINDOW * WINDOW
    half = N_FFT // 2
    return (y / np.maximum(weight, 1e-11))[half:half + frames * HOP]


def synthesise(spectra, f0, z):
    lh, theta, ln, lr, phi = np.split(spectra.astype(np.float64), 5, axis=1)
    e = lambda x: np.exp(np.minimum(x, 7))
    source = stft(pulses(f0), len(f0)) * e(lh) * np.exp(1j * np.pi * np.tanh(theta))
    return istft(source + e(ln) * z + e(lr) * np.exp(1j * phi))


# --- checks against the package, and files --------------------------------------------------------------------------

class Injected:
    """Gives `hibari.dsp` this module's noise in place of a generator's."""

    def __init__(self, z):
        self.z = z

    def standard_normal(self, shape, dtype):
        return np.ascontiguousarray(self.z.T.astype(np.complex64)).view(dtype).reshape(shape)


def check(name, ids, speed, g, z, wave):
    parts = [np.ascontiguousarray(p.T) for p in np.split(g["spectra"], 5, axis=1)]
    theirs = dsp.synth(*parts, g["f0"], Injected(z))
    error = np.linalg.norm(theirs - wave) / np.linalg.norm(wave)
    assert error < 1e-3, (name, error)
    session = onnxruntime.InferenceSession(ASSETS / "hibari.onnx", providers=["CPUExecutionProvider"])
    out = session.run(None, {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)})
    frames = out[0].shape[2]
    assert abs(frames - len(g["f0"])) <= 4, (name, frames, len(g["f0"]))
    print(f"{name}: {len(ids)} ids, {len(g['f0'])} frames (onnxruntime {frames}), dsp differs by {error:.1e}")


def export(name, phonemes, speed, vocab, target):
    ids = [0, *[vocab[c] for c in phonemes if c in vocab], 0]
    g = forward(ids, speed)
    frames = len(g["f0"])
    rows = np.unique([0, 1, frames - 2, frames - 1, *range(7, frames, 24)]).astype(np.int32)
    z = noise(7, 3, frames)
    seeded, silent = synthesise(g["spectra"], g["f0"], z), synthesise(g["spectra"], g["f0"], 0 * z)
    check(name, ids, speed, g, z, seeded)
    keep = slice(None) if frames < 100 else slice(20 * HOP, 40 * HOP)
    save_file({
        "ids": np.asarray(ids, np.int32), "speed": np.float32([speed]), "durations": g["durations"],
        "f0": g["f0"], "energy": g["energy"].astype(np.float32), "text": g["text"][::8].astype(np.float32),
        "rows": rows, "spectra": g["spectra"][rows].astype(np.float32), "wave_start": np.int32([keep.start or 0]),
        "wave_seed_7_unit_3": seeded[keep].astype(np.float32), "wave_no_noise": silent[keep].astype(np.float32),
    }, target / f"{name}.safetensors", metadata={"phonemes": phonemes})


def main(target):
    target = Path(target)
    vocab = json.loads((ASSETS / "vocab.json").read_text(encoding="utf-8"))
    for name, (phonemes, speed) in CASES.items():
        export(name, phonemes, speed, vocab, target)
    z = noise(0x1234_5678_9ABC_DEF0, 2, 3)
    save_file({"re": z.real.astype(np.float32), "im": z.imag.astype(np.float32)}, target / "noise.safetensors")
    oov = OOV(str(ASSETS / "oov.onnx"))
    spelled = {word: oov(word) for word in WORDS}
    (target / "oov.json").write_text(json.dumps(spelled, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
