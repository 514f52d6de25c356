"""Content negotiation: the exposition format and the compression of a response. Pure; RFC 9110 section 12.5."""

from collections.abc import Iterator
from typing import Final

from exporters.text.exposition import ExpositionFormat

_OPENMETRICS: Final = "application/openmetrics-text"
# 1.0.0 is the version that is served; Prometheus named the same format 0.0.1 before it was a standard.
_OPENMETRICS_VERSIONS: Final = ("", "1.0.0", "0.0.1")
_TEXT_RANGES: Final = ("text/plain", "text/*", "*/*")


def preferred_format(accept: str) -> ExpositionFormat:
    """Return the format for an `Accept` header: OpenMetrics if it is named with at least the quality of plain text.

    Otherwise, and for any header that cannot be satisfied, the text format, which all readers support.
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
    """Return whether an `Accept-Encoding` header accepts gzip. The name has precedence over `*`."""
    qualities = {coding: _quality(parameters) for coding, parameters in _weighted(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _weighted(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Parse a list header: yield each value with its parameters, all in lower case."""
    for item in header.lower().split(","):
        value, *parameters = (part.strip() for part in item.split(";"))
        named = (parameter.partition("=") for parameter in parameters)
        yield value, {name.strip(): text.strip(' "') for name, _, text in named}


def _quality(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 0.0
