"""Encodes a sound file with FFmpeg's libraries: the source, the target, whose end is the container, and the codec; then the rate, the
layout of channels and an option of the container, which are 48000, stereo and none."""

import sys

import av

source, target, codec = sys.argv[1:4]
rate, layout, option = [*sys.argv[4:], *["48000", "stereo", ""][len(sys.argv) - 4 :]]
rate = int(rate)
container_options = dict([option.split("=")]) if option else {}
with av.open(source) as clip, av.open(target, "w", container_options=container_options) as container:
    # Of FFmpeg's own encoders the one of Vorbis counts as experimental.
    stream = container.add_stream(codec, rate=rate, options={"strict": "experimental"})
    stream.codec_context.layout = layout
    context = stream.codec_context
    resampler = av.AudioResampler(format=stream.codec_context.format or "s16", layout=layout, rate=rate)
    fifo = av.AudioFifo()
    for frame in clip.decode(audio=0):
        for part in resampler.resample(frame):
            part.pts = None
            fifo.write(part)
    for part in resampler.resample(None):
        part.pts = None
        fifo.write(part)
    written = 0
    while True:
        size = context.frame_size or 1024
        frame = fifo.read(size) or fifo.read(0, partial=True)
        if frame is None or frame.samples == 0:
            break
        frame.pts, frame.rate = written, rate
        written += frame.samples
        for packet in stream.encode(frame):
            container.mux(packet)
    for packet in stream.encode(None):
        container.mux(packet)
