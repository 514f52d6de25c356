"""Content negotiation."""

from hypothesis import given
from hypothesis import strategies as st

from exporters.http.rendered_responses import accepts_gzip, preferred_format
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


TEXT, OPENMETRICS = ExpositionFormat.TEXT, ExpositionFormat.OPENMETRICS
FORMATS = {
    "": TEXT,
    "*/*": TEXT,
    BROWSER: TEXT,
    PROMETHEUS_2: OPENMETRICS,
    PROMETHEUS_3: OPENMETRICS,
    "application/openmetrics-text": OPENMETRICS,
    'Application/OpenMetrics-Text; Version="1.0.0"': OPENMETRICS,
    "application/openmetrics-text;version=2.0.0": TEXT,
    "application/openmetrics-text;q=0.1,text/plain": TEXT,
    "application/openmetrics-text;q=0": TEXT,
    "application/openmetrics-text;q=much": TEXT,
    "application/vnd.google.protobuf": TEXT,
}
CODINGS = {
    "": False,
    "gzip": True,
    "deflate, gzip;q=0.5, br": True,
    "gzip;q=0": False,
    "*;q=0.1": True,
    "gzip;q=0, *": False,
    "identity": False,
}


def test_format_and_coding_are_those_that_the_headers_prefer() -> None:
    """The response has the format that the header prefers, otherwise text; only a client that accepts gzip gets it."""
    assert {accept: preferred_format(accept) for accept in FORMATS} == FORMATS
    assert {header: accepts_gzip(header) for header in CODINGS} == CODINGS


@given(st.text())
def test_any_header_is_accepted(header: str) -> None:
    """Law: any header has a format, also an invalid one."""
    assert preferred_format(header) in ExpositionFormat
    assert accepts_gzip(header) in {True, False}
