"""Decodes audio from standard input with FFmpeg's libraries: s16le, 24 kHz, mono, on standard output. The container is the argument."""

import io
import sys

import av

data = io.BytesIO(sys.stdin.buffer.read())
resampler = av.AudioResampler(format="s16", layout="mono", rate=24000)
with av.open(data, format=sys.argv[1], options={"err_detect": "explode"}) as container:
    stream = container.streams.audio[0]
    for frame in container.decode(stream):
        for part in resampler.resample(frame):
            sys.stdout.buffer.write(bytes(part.planes[0])[: part.samples * 2])
    for part in resampler.resample(None):
        sys.stdout.buffer.write(bytes(part.planes[0])[: part.samples * 2])
