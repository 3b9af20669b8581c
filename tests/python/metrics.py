"""Reads a page of metrics with Prometheus' own parser and prints what it found as one JSON object."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

# The parser drops the ending of a counter's name and gives it back with the samples.
page = sys.stdin.read()
families = {}
for family in text_string_to_metric_families(page):
    name = family.name + ("_total" if family.type == "counter" else "")
    assert name not in families, f"{name} is on the page twice"
    samples = [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples]
    families[name] = {"type": family.type, "about": family.documentation, "samples": samples}
json.dump(families, sys.stdout)
