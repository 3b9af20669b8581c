"""Uploads, uses and deletes a voice through the unchanged `openai` package and reports what happened as one JSON object."""

import json
import pathlib
import sys

import openai


def failure(call):
    """What the package raises for a request."""
    try:
        call()
    except openai.APIStatusError as error:
        return {"class": type(error).__name__, "status": error.status_code}
    return {"class": "none"}


def main():
    base_url, clip, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    client = openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=200)
    voices = client.audio.voices
    created = voices.create(audio_sample=clip, consent="consent-1", name="Anne")
    speech = client.audio.speech.create(
        model="sine",
        voice={"id": created.id},
        input="Good day to you.",
        response_format="wav",
        extra_body={"seed": 7, "loudness": 0.5},
    )
    speech.write_to_file(folder / "spoken.wav")
    short = ("short.wav", clip.read_bytes()[:5000], "audio/wav")
    report = {
        "created": created.to_dict(),
        "deleted": voices.delete(created.id).to_dict(),
        "deleted_again": failure(lambda: voices.delete(created.id)),
        "too_short": failure(lambda: voices.create(audio_sample=short, consent="consent-1", name="Short")),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
