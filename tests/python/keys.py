"""Uses a server that wants a key through the unchanged `openai` package, and prints what happened as one JSON object."""

import json
import sys

import openai


def speak(base_url, key):
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=200)
    try:
        spoken = client.audio.speech.create(model="sine", voice="alloy", input="Hello.", response_format="wav")
    except openai.APIStatusError as error:
        return {
            "class": type(error).__name__,
            "status": error.status_code,
            "request_id": error.request_id,
            "retry_after": error.response.headers.get("retry-after"),
            "message": str(error),
        }
    return {"class": "none", "bytes": len(spoken.read())}


print(json.dumps([speak(sys.argv[1], key) for key in sys.argv[2:]]))
