"""What scrapers ask for."""

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
        pytest.param("", ExpositionFormat.TEXT, id="no wish"),
        pytest.param("*/*", ExpositionFormat.TEXT, id="curl"),
        pytest.param(BROWSER, ExpositionFormat.TEXT, id="a browser"),
        pytest.param(PROMETHEUS_2, ExpositionFormat.OPENMETRICS, id="Prometheus 2"),
        pytest.param(PROMETHEUS_3, ExpositionFormat.OPENMETRICS, id="Prometheus 3"),
        pytest.param("application/openmetrics-text", ExpositionFormat.OPENMETRICS, id="no version named"),
        pytest.param(
            'Application/OpenMetrics-Text; Version="1.0.0"', ExpositionFormat.OPENMETRICS, id="case and quotes"
        ),
        pytest.param(
            "application/openmetrics-text;version=2.0.0", ExpositionFormat.TEXT, id="a version we do not write"
        ),
        pytest.param("application/openmetrics-text;q=0.1,text/plain", ExpositionFormat.TEXT, id="text preferred"),
        pytest.param("application/openmetrics-text;q=0", ExpositionFormat.TEXT, id="OpenMetrics refused"),
        pytest.param("application/openmetrics-text;q=much", ExpositionFormat.TEXT, id="a weight that is none"),
        pytest.param("application/vnd.google.protobuf", ExpositionFormat.TEXT, id="only what we do not have"),
    ],
)
def test_format(accept: str, form: ExpositionFormat) -> None:
    """The format is the one that the header prefers, and plain text whenever in doubt."""
    assert preferred_format(accept) is form


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        pytest.param("", False, id="no header"),
        pytest.param("gzip", True, id="Prometheus"),
        pytest.param("deflate, gzip;q=0.5, br", True, id="among others"),
        pytest.param("gzip;q=0", False, id="refused"),
        pytest.param("*;q=0.1", True, id="anything"),
        pytest.param("gzip;q=0, *", False, id="anything but"),
        pytest.param("identity", False, id="as it is"),
    ],
)
def test_compression(header: str, accepted: bool) -> None:  # noqa: FBT001  # a column of the table
    """Only a reader who takes gzip gets gzip."""
    assert accepts_gzip(header) is accepted


@given(st.text())
def test_any_header_has_an_answer(header: str) -> None:
    """No header, however broken, is an error."""
    assert preferred_format(header) in ExpositionFormat
    assert accepts_gzip(header) in {True, False}
