"""What a scraper accepts, out of its headers: which format, and whether compressed. Pure; RFC 9110 section 12.5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporters.text.exposition import ExpositionFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENMETRICS: Final = "application/openmetrics-text"
# Ours is version 1.0.0; 0.0.1 is what Prometheus called the same text before it was a standard.
_OPENMETRICS_VERSIONS: Final = ("", "1.0.0", "0.0.1")
_TEXT_RANGES: Final = ("text/plain", "text/*", "*/*")


def preferred_format(accept: str) -> ExpositionFormat:
    """Choose by an `Accept` header. Whatever it says, an answer comes: the plain text format is read by everything.

    OpenMetrics wins where it is asked for by name with at least the weight of plain text.
    """
    openmetrics, text = 0.0, 0.0
    for kind, parameters in _weighted(accept):
        quality = _quality(parameters)
        if kind == _OPENMETRICS and parameters.get("version", "") in _OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics, quality)
        elif kind in _TEXT_RANGES and parameters.get("version", "0.0.4") == "0.0.4":
            text = max(text, quality)
    return ExpositionFormat.OPENMETRICS if openmetrics and openmetrics >= text else ExpositionFormat.TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    """Tell by an `Accept-Encoding` header whether the answer may be compressed; a name outweighs the star."""
    qualities = {coding: _quality(parameters) for coding, parameters in _weighted(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _weighted(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Take a list header apart: the value and its parameters, all in lower case."""
    for item in header.lower().split(","):
        value, *parameters = (part.strip() for part in item.split(";"))
        named = (parameter.partition("=") for parameter in parameters)
        yield value, {name.strip(): text.strip(' "') for name, _, text in named}


def _quality(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 0.0
