#!/usr/bin/env python3
"""Converts the published weights of hibari-tts to the files this crate embeds.

    pip download --no-deps hibari-tts==0.2.1 -d /tmp/wheel
    pip install onnx==1.23.2 numpy==2.4.6 safetensors==0.8.0
    python tools/convert_weights.py /tmp/wheel/hibari_tts-0.2.1-py3-none-any.whl weights

Reads `hibari.onnx` (acoustic model, matmul weights quantised to 8 bits a tensor) and `oov.onnx` (out-of-vocabulary
words, f32) straight from the wheel, which must have the sha256 below, and writes

    hibari.safetensors   quantised weights as I8 with one f32 scale each (every zero point is 0), the rest f32
    oov.safetensors      f32
    vocab.json           phoneme -> id
    oov.json             letters in, phonemes out, slots a letter, longest word
    NOTICE               the package's notice, with what was changed

Tensor names mirror the Rust module tree; dense weights keep ONNX's [in, out], convolutions [out, in / groups, kernel].
"""

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

WHEEL_SHA256 = "49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3"
MODEL_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"

CHANGES = """\
Changes made to the files of hibari-tts 0.2.1 (on PyPI):
  the weights of assets/hibari.onnx and assets/oov.onnx were renamed and rewritten as safetensors without change of
  value (tools/convert_weights.py); assets/vocab.json and assets/oov.json are carried as data. No code of the package
  is included. The lexicons, the tagger and the tokenizer table named below are not included.

The notice of the package follows.

"""


def initializers(blob):
    graph = onnx.load(io.BytesIO(blob)).graph
    return graph, {t.name: numpy_helper.to_array(t) for t in graph.initializer}


class Model:
    """The acoustic model's initialisers under new names; every initialiser must be used exactly once."""

    def __init__(self, weights):
        self.left, self.out = dict(weights), {}

    def f32(self, source, target):
        array = self.left.pop(source)
        assert array.dtype == np.float32, source
        self.out[target] = np.ascontiguousarray(array)

    def named(self, source, target, *parts):
        for part in parts:
            self.f32(f"{source}.{part}", f"{target}.{part}")

    def dense(self, quantised, bias, target):
        """A quantised [in, out] matrix, its scale and its bias."""
        q = self.left.pop(quantised + "_quantized")
        zero = self.left.pop(quantised + "_zero_point")
        scale = self.left.pop(quantised + "_scale")
        assert q.dtype == np.int8 and zero == 0 and scale.dtype == np.float32, quantised
        self.out[f"{target}.weight"] = np.ascontiguousarray(q)
        self.out[f"{target}.scale"] = scale.reshape(1)
        self.f32(bias, f"{target}.bias")

    def block(self, source, graph, target, suffix=""):
        self.f32(f"{source}.gamma", f"{target}.gamma")
        self.named(f"{source}.dw", f"{target}.depthwise", "weight", "bias")
        self.named(f"{source}.norm", f"{target}.norm", "weight", "bias")
        self.dense(f"{graph}/pw1{suffix}/Transpose_output_0", f"{source}.pw1.bias", f"{target}.up")
        self.dense(f"{graph}/pw2{suffix}/Transpose_output_0", f"{source}.pw2.bias", f"{target}.down")

    def text_encoder(self, source, target, qkv, suffix, attention):
        self.f32(f"{source}.emb.weight", f"{target}.embedding.weight")
        for i in range(2):
            self.block(f"{source}.convs.{i}", f"/convs.{i}", f"{target}.blocks.{i}", suffix)
        attn, out = f"{source}.attn", f"{target}.layer"
        for norm in ("norm1", "norm2"):
            self.named(f"{attn}.{norm}", f"{out}.{norm}", "weight", "bias")
        self.dense(qkv, f"{attn}.self_attn.in_proj_bias", f"{out}.qkv")
        self.dense(f"/out_proj{attention}/Transpose_output_0", f"{attn}.self_attn.out_proj.bias", f"{out}.out")
        self.dense(f"/linear1{attention}/Transpose_output_0", f"{attn}.linear1.bias", f"{out}.up")
        self.dense(f"/linear2{attention}/Transpose_output_0", f"{attn}.linear2.bias", f"{out}.down")
        self.named(f"{source}.norm", f"{target}.norm", "weight", "bias")


def acoustic(weights):
    m = Model(weights)
    m.text_encoder("m.text", "text", "/Transpose_2_output_0", "", "")
    m.text_encoder("pn.text", "prosody.text", "/Transpose_25_output_0", "_1", "_4")
    for source, target in (("dur.0", "duration.0"), ("dur.2", "duration.1"), ("pro_in", "input"), ("pro_out", "output")):
        m.named(f"pn.{source}", f"prosody.{target}", "weight", "bias")
    for i in range(6):
        m.block(f"pn.pro.{i}", f"/pro.{i}", f"prosody.blocks.{i}")
    m.named("m.dec_in", "decoder.input", "weight", "bias")
    for i in range(8):
        m.block(f"m.dec.{i}", f"/dec.{i}", f"decoder.blocks.{i}")
    m.named("m.dec_norm", "decoder.norm", "weight", "bias")
    m.dense("/head/Transpose_output_0", "m.head.bias", "decoder.head")
    assert not m.left, sorted(m.left)
    return m.out


def speller(graph, weights):
    """The out-of-vocabulary network: anonymous MatMul weights get their name from their place in the graph."""
    dense = [n.input[1] for n in graph.node if n.op_type == "MatMul" and n.input[1].startswith("onnx::")]
    m, order = Model(weights), iter(dense)
    m.f32("m.emb.weight", "embedding.weight")
    m.f32("m.pos", "positions")
    for i in range(4):
        source, target = f"m.layers.{i}", f"layers.{i}"
        for norm in ("norm1", "norm2"):
            m.named(f"{source}.{norm}", f"{target}.{norm}", "weight", "bias")
        for name, bias in (("qkv", "self_attn.in_proj_bias"), ("out", "self_attn.out_proj.bias"),
                           ("up", "linear1.bias"), ("down", "linear2.bias")):
            m.f32(next(order), f"{target}.{name}.weight")
            m.f32(f"{source}.{bias}", f"{target}.{name}.bias")
    m.named("m.norm", "norm", "weight", "bias")
    m.f32(next(order), "head.weight")
    m.f32("m.head.bias", "head.bias")
    assert not m.left and next(order, None) is None, sorted(m.left)
    return m.out


def main(wheel, target):
    blob = Path(wheel).read_bytes()
    assert hashlib.sha256(blob).hexdigest() == WHEEL_SHA256, "not the pinned wheel"
    archive, target = zipfile.ZipFile(io.BytesIO(blob)), Path(target)
    read = lambda name: archive.read(f"hibari/assets/{name}")
    model = read("hibari.onnx")
    assert hashlib.sha256(model).hexdigest() == MODEL_SHA256, "not the pinned model"
    # One key: the writer's order of several is random, and the files' checksums are to be reproducible.
    about = {"source": f"hibari-tts 0.2.1, Apache-2.0, wheel sha256 {WHEEL_SHA256}"}
    save_file(acoustic(initializers(model)[1]), target / "hibari.safetensors", metadata=about)
    save_file(speller(*initializers(read("oov.onnx"))), target / "oov.safetensors", metadata=about)
    for name in ("vocab.json", "oov.json"):
        data = json.loads(read(name))
        (target / name).write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    licences = "hibari_tts-0.2.1.dist-info/licenses"
    (target / "LICENSE").write_bytes(archive.read(f"{licences}/LICENSE"))
    (target / "NOTICE").write_text(CHANGES + archive.read(f"{licences}/NOTICE").decode(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
