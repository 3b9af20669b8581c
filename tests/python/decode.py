"""Decodes audio from standard input with FFmpeg's libraries: s16le, 24 kHz, mono, on standard output. The container is the argument.

What FFmpeg has to complain about goes to standard error, as with `ffmpeg -v error -xerror`.
"""

import io
import sys

import av
import av.logging

av.logging.restore_default_callback()
av.logging.set_level(av.logging.ERROR)
data = io.BytesIO(sys.stdin.buffer.read())
resampler = av.AudioResampler(format="s16", layout="mono", rate=24000)
with av.open(data, format=sys.argv[1], options={"err_detect": "explode"}) as container:
    stream = container.streams.audio[0]
    for frame in container.decode(stream):
        for part in resampler.resample(frame):
            sys.stdout.buffer.write(bytes(part.planes[0])[: part.samples * 2])
    for part in resampler.resample(None):
        sys.stdout.buffer.write(bytes(part.planes[0])[: part.samples * 2])
