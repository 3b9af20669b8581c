"""Uses the server through the unchanged `openai` package, as any of its users would, and reports what happened as one JSON object."""

import json
import pathlib
import sys

import openai

TEXT = "The juice of lemons makes fine punch."
SEED = {"seed": 7}


def failure(call):
    """What the package raises for a request."""
    try:
        call()
    except openai.APIStatusError as error:
        return {
            "class": type(error).__name__,
            "status": error.status_code,
            "request_id": error.request_id,
            "param": error.param,
            "type": error.type,
            "message": error.message,
        }
    return {"class": "none"}


def save(client, folder):
    speech = client.audio.speech
    file = folder / "file.wav"
    speech.create(model="hibari", voice="heart", input=TEXT, response_format="wav", extra_body=SEED).write_to_file(file)
    by_default = folder / "default.wav"
    speech.create(model="hibari", voice={"id": "heart"}, input=TEXT, extra_body=SEED).write_to_file(by_default)
    # A name of OpenAI's own, as most programs have it in their settings.
    speech.create(model="hibari", voice="alloy", input=TEXT, extra_body=SEED).write_to_file(folder / "alloy.wav")
    streamed = folder / "streamed.pcm"
    pieces = 0
    with speech.with_streaming_response.create(
        model="hibari",
        voice="heart",
        input=TEXT,
        response_format="pcm",
        stream_format="audio",
        extra_body=SEED,
    ) as response:
        with streamed.open("wb") as sink:
            for piece in response.iter_bytes():
                sink.write(piece)
                pieces += 1
    whole = folder / "whole.pcm"
    with speech.with_streaming_response.create(
        model="hibari", voice="heart", input=TEXT, response_format="pcm", extra_body=SEED
    ) as response:
        response.stream_to_file(whole)
    return {"pieces": pieces}


def failures(client):
    def create(**changes):
        request = {"model": "hibari", "voice": "heart", "input": TEXT, **changes}
        return lambda: client.audio.speech.create(**request)

    return {
        "voice": failure(create(voice="nobody")),
        "model": failure(create(model="no-such-model")),
        "input": failure(create(input="")),
        "speed": failure(create(speed=9)),
    }


def main():
    base_url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    client = openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=200)
    report = {
        "saved": save(client, folder),
        "failures": failures(client),
        "models": [model.id for model in client.models.list()],
        "model": client.models.retrieve("hibari").id,
        "missing_model": failure(lambda: client.models.retrieve("no-such-model")),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
