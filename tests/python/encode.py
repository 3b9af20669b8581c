"""Encodes a sound file with FFmpeg's libraries: the source, the target, whose end is the container, and the codec; stereo at 48 kHz."""

import sys

import av

source, target, codec = sys.argv[1:4]
RATE = 48000
with av.open(source) as clip, av.open(target, "w") as container:
    # Of FFmpeg's own encoders the one of Vorbis counts as experimental.
    stream = container.add_stream(codec, rate=RATE, options={"strict": "experimental"})
    stream.codec_context.layout = "stereo"
    context = stream.codec_context
    resampler = av.AudioResampler(format=stream.codec_context.format or "s16", layout="stereo", rate=RATE)
    fifo = av.AudioFifo()
    for frame in clip.decode(audio=0):
        for part in resampler.resample(frame):
            part.pts = None
            fifo.write(part)
    written = 0
    while True:
        size = context.frame_size or 1024
        frame = fifo.read(size) or fifo.read(0, partial=True)
        if frame is None or frame.samples == 0:
            break
        frame.pts, frame.rate = written, RATE
        written += frame.samples
        for packet in stream.encode(frame):
            container.mux(packet)
    for packet in stream.encode(None):
        container.mux(packet)
