"""Positions in the text of a Kafka offset of Spark, as in its offset log and its progress reports."""

from __future__ import annotations

import json


def source_positions(offsets: str | None, topic: str) -> dict[int, int]:
    """Read the positions in a Kafka offset of Spark: `{"topic": {"partition": offset}}`, in progress and checkpoint."""
    if not offsets:
        return {}
    per_topic: dict[str, dict[str, int]] = json.loads(offsets)
    return {int(partition): offset for partition, offset in per_topic.get(topic, {}).items()}
