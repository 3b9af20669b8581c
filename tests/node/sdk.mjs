// Uses the server through the unchanged `openai` package, as any of its users would, and reports what happened as one JSON object.

import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import OpenAI from "openai";

const [baseURL, folder] = process.argv.slice(-2);
const REQUEST = { model: "hibari", voice: "heart", input: "The juice of lemons makes fine punch.", response_format: "wav", seed: 7 };

let attempts = 0;
const client = new OpenAI({
  baseURL,
  apiKey: "unused",
  fetch: (...request) => {
    attempts += 1;
    return fetch(...request);
  },
});

const speak = (changes) => client.audio.speech.create({ ...REQUEST, ...changes });

/** Saves a complete body for each way to name a voice. */
async function voices() {
  const forms = { name: "heart", other_case: "Heart", object: { id: "heart" }, default: "default", of_openai: "alloy" };
  for (const [form, voice] of Object.entries(forms)) {
    const response = await speak({ voice });
    await writeFile(join(folder, `${form}.wav`), Buffer.from(await response.arrayBuffer()));
  }
  return Object.keys(forms);
}

/** Saves a body as it comes, and says in how many pieces. */
async function stream() {
  const response = await speak({ response_format: "pcm", stream_format: "audio" });
  let pieces = 0;
  const body = Readable.fromWeb(response.body);
  body.on("data", () => (pieces += 1));
  await pipeline(body, createWriteStream(join(folder, "streamed.pcm")));
  return { pieces, type: response.headers.get("content-type") };
}

/** What the package throws, and after how many attempts. */
async function failure(call) {
  attempts = 0;
  try {
    await call();
  } catch (error) {
    const { status, param, type, message, requestID } = error;
    return { class: error.constructor.name, is_api_error: error instanceof OpenAI.APIError, status, param, type, message, requestID, attempts };
  }
  return { class: "none" };
}

const models = [];
for await (const model of client.models.list()) {
  models.push(model.id);
}
const report = {
  voices: await voices(),
  stream: await stream(),
  models,
  failures: {
    voice: await failure(() => speak({ voice: "nobody" })),
    speed: await failure(() => speak({ speed: 9 })),
    input: await failure(() => speak({ input: "" })),
    model: await failure(() => speak({ model: "no-such-model" })),
  },
  missing_model: await failure(() => client.models.retrieve("no-such-model")),
};
console.log(JSON.stringify(report));
