"""Writes the generated part of `docs/migration/`: `python -m exporters.compatibility.migration_pages docs/migration/*`.

A page has the name of its exporter. The part between the markers is generated from the table of the exporter; the rest
is written by hand. A test compares.
"""

import collections
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import METRICS
from exporters.compatibility.other_exporter import OtherExporter, OtherMetric, OtherSource
from exporters.compatibility.selection import OTHER_BY_NAME

_BEGIN: Final = "<!-- generated: begin -->\n"
_END: Final = "<!-- generated: end -->\n"
_SENTENCE_END: Final = re.compile(r"(?<=\.) (?=[A-Z])")
_ONLY_FULL: Final = frozenset(metric.name for metric in METRICS if metric.smallest_preset is Preset.FULL)
_NEEDS_FULL: Final = "Lagwarden's own needs `metrics.preset: full` or `metrics.add`."
_PER_PARTITION: Final = "per partition of a group"
_PER_EVERY_PARTITION: Final = "per partition of a topic, for each group with a commit in the topic"
_COSTS: Final = (
    (_PER_PARTITION, (OtherSource.PARTITIONS,)),
    ("per topic of a group", (OtherSource.GROUP_TOPICS,)),
    ("per group", (OtherSource.GROUPS,)),
    ("per partition of a topic that groups read", (OtherSource.LOG_ENDS,)),
    ("per topic that groups read", (OtherSource.TOPICS,)),
    ("per partition in `cluster.partitions_shown`", (OtherSource.REPLICAS,)),
    ("per topic of the cluster", (OtherSource.CLUSTER_TOPICS, OtherSource.TOPIC_SIZES)),
)


def updated(page: str, other: OtherExporter) -> str:
    """Return a page with the generated part of an exporter. Raises ValueError if the page has no markers."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {_BEGIN.strip()!r} and {_END.strip()!r}")
    return f"{before}{begin}\n{generated(other)}\n{end}{after}"


def generated(other: OtherExporter) -> str:
    """Return the generated part: what maps to what, labels, what is missing, and what the names cost."""
    sentences = collections.Counter(sentence for metric in other.metrics for sentence in _notes(metric))
    numbered = {text: f"({n})" for n, text in enumerate((text for text, uses in sentences.items() if uses > 1), 1)}
    introduction = (
        f"`metrics.compatibility: [{other.name}]` shows these {len(other.metrics)} metrics of {other.title}\n"
        f"({other.project}) by its labels and value rules. After each are the metric of lagwarden and differences.\n"
        "An unknown number is absent."
    )
    parts = [
        "## What maps to what",
        introduction,
        "\n".join(_mapping(metric, numbered) for metric in other.metrics),
        *(f"{number} {sentence}" for sentence, number in numbered.items()),
        *(("Labels:", _listed(other.unknown_labels)) if other.unknown_labels else ()),
        "## What is missing",
        _listed(other.missing) or "No metric is missing.",
        "## What the names cost",
        f"Series, at most, in addition to those of the preset: {_costs(other)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _mapping(metric: OtherMetric, numbered: Mapping[str, str]) -> str:
    """Return what a metric maps to; sentences of several metrics are named by their number."""
    notes = "".join(f" {numbered.get(sentence, sentence)}" for sentence in _notes(metric))
    return f"- `{metric.name}`: `{metric.instead}`{'.' if notes else ''}{notes}"


def _listed(named: Mapping[str, str]) -> str:
    return "\n".join(f"- `{name}`: {text}" for name, text in named.items())


def _notes(metric: OtherMetric) -> list[str]:
    """Return the preset of lagwarden's metric, when a metric is absent, and its differences, as sentences."""
    preset = "" if _ONLY_FULL.isdisjoint(re.findall(r"\w+", metric.instead)) else _NEEDS_FULL
    absent = f"Absent: {metric.absent}." if metric.absent else ""
    return [sentence for part in (preset, absent, metric.difference) if part for sentence in _SENTENCE_END.split(part)]


def _costs(other: OtherExporter) -> str:
    counts = [(text, sum(metric.source in sources for metric in other.metrics)) for text, sources in _COSTS]
    replaced = {_PER_PARTITION: _PER_EVERY_PARTITION} if other.every_partition else {}
    return "; ".join(f"{count} {replaced.get(text, text)}" for text, count in counts if count)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(updated(page.read_text("utf-8"), OTHER_BY_NAME[page.stem]), "utf-8")
