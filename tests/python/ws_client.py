"""Holds a session on the speech WebSocket with the unchanged `websockets` package and reports all that came back as one JSON object.

The script comes on standard input: a list of steps, each `{"send": message}`, `{"wait": type}` (until an event of this type, or `binary`),
or `{"leave": true}` (close as a client does). After the last step everything is read until the connection ends.
"""

import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 240


def receive(socket, events):
    """Takes one frame and gives its type."""
    frame = socket.recv(timeout=PATIENCE)
    event = {"type": "binary", "hex": frame.hex()} if isinstance(frame, bytes) else json.loads(frame)
    events.append(event)
    return event["type"]


def play(socket, steps, events):
    for step in steps:
        if "send" in step:
            socket.send(json.dumps(step["send"]))
        elif "wait" in step:
            while receive(socket, events) != step["wait"]:
                pass
        else:
            socket.close()
    while True:
        receive(socket, events)


def main():
    events = []
    with connect(sys.argv[1], proxy=None, max_size=None) as socket:
        try:
            play(socket, json.load(sys.stdin), events)
        except ConnectionClosed as closed:
            frame = closed.rcvd
    report = {"events": events, "code": frame.code if frame else None, "reason": frame.reason if frame else None}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
