"""Parses the JSON of the source's offsets, as in Spark's offset log and its progress reports."""

from __future__ import annotations

import json


def source_positions(offsets: str | None, topic: str) -> dict[int, int]:
    """Return the offset per partition of a topic from `{"topic": {"partition": offset}}`; empty for None or no text."""
    if not offsets:
        return {}
    per_topic: dict[str, dict[str, int]] = json.loads(offsets)
    return {int(partition): offset for partition, offset in per_topic.get(topic, {}).items()}
