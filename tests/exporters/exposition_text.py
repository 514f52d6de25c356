"""The text of an exposition, and its samples as the parsers of prometheus_client read them."""

from collections.abc import Iterator
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporters.text.exposition import Exposition, ExpositionFormat

TEXT, OPENMETRICS = ExpositionFormat.TEXT, ExpositionFormat.OPENMETRICS
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Values by name and labels."""


def plain_text(exposition: Exposition, form: ExpositionFormat = TEXT) -> str:
    """Return the complete text of an exposition, without the end that OpenMetrics requires."""
    parts = exposition.plain(form)
    return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in parts).decode()


def samples(text: str, form: ExpositionFormat = TEXT) -> Iterator[Any]:
    """Yield the samples of a text, to which the end that OpenMetrics requires is added."""
    if form is OPENMETRICS and not text.endswith("# EOF\n"):
        text += "# EOF\n"
    for family in parse_text(text) if form is TEXT else parse_openmetrics(text):
        yield from family.samples


def parsed(text: str, form: ExpositionFormat = TEXT) -> Series:
    """Return the values of a text. A duplicate sample is an error."""
    found: Series = {}
    for sample in samples(text, form):
        key = (sample.name, frozenset(sample.labels.items()))
        assert key not in found
        found[key] = sample.value
    return found


def named(pattern: str, **values: float) -> dict[str, float]:
    """Return values by the names of lagwarden's metrics; each name replaces the star of the pattern."""
    return {f"lagwarden_{pattern}".replace("*", name, 1): value for name, value in values.items()}
