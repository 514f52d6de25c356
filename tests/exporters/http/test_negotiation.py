"""Content negotiation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.http.negotiation import accepts_gzip, preferred_format
from exporters.text.exposition import ExpositionFormat

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        pytest.param("", ExpositionFormat.TEXT, id="no header"),
        pytest.param("*/*", ExpositionFormat.TEXT, id="curl"),
        pytest.param(BROWSER, ExpositionFormat.TEXT, id="browser"),
        pytest.param(PROMETHEUS_2, ExpositionFormat.OPENMETRICS, id="Prometheus 2"),
        pytest.param(PROMETHEUS_3, ExpositionFormat.OPENMETRICS, id="Prometheus 3"),
        pytest.param("application/openmetrics-text", ExpositionFormat.OPENMETRICS, id="no version"),
        pytest.param(
            'Application/OpenMetrics-Text; Version="1.0.0"', ExpositionFormat.OPENMETRICS, id="case and quotes"
        ),
        pytest.param("application/openmetrics-text;version=2.0.0", ExpositionFormat.TEXT, id="unsupported version"),
        pytest.param("application/openmetrics-text;q=0.1,text/plain", ExpositionFormat.TEXT, id="text preferred"),
        pytest.param("application/openmetrics-text;q=0", ExpositionFormat.TEXT, id="OpenMetrics refused"),
        pytest.param("application/openmetrics-text;q=much", ExpositionFormat.TEXT, id="invalid quality"),
        pytest.param("application/vnd.google.protobuf", ExpositionFormat.TEXT, id="only unsupported formats"),
    ],
)
def test_the_preferred_format_is_chosen(accept: str, form: ExpositionFormat) -> None:
    """The response has the format that the header prefers, otherwise the text format."""
    assert preferred_format(accept) is form


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        pytest.param("", False, id="no header"),
        pytest.param("gzip", True, id="Prometheus"),
        pytest.param("deflate, gzip;q=0.5, br", True, id="one of several"),
        pytest.param("gzip;q=0", False, id="refused"),
        pytest.param("*;q=0.1", True, id="any coding"),
        pytest.param("gzip;q=0, *", False, id="any coding but gzip"),
        pytest.param("identity", False, id="identity"),
    ],
)
def test_only_a_client_that_accepts_gzip_gets_gzip(header: str, accepted: bool) -> None:  # noqa: FBT001  # a column of the table
    """Only a client that accepts gzip gets gzip."""
    assert accepts_gzip(header) is accepted


@given(st.text())
def test_any_header_is_accepted(header: str) -> None:
    """Law: any header has a format, also an invalid one."""
    assert preferred_format(header) in ExpositionFormat
    assert accepts_gzip(header) in {True, False}
