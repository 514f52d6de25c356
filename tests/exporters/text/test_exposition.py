"""The rendered snapshot against a golden text and the parsers of prometheus_client."""

import functools
import gzip
import pathlib
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.metric import MetricKind, ValueConversion
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.readmodel import GROUPS, TIMESTAMP, Snapshot
from exporters.text.compressed_text import InflatedText
from exporters.text.exposition import EMPTY, ExpositionFormat, PublishedSnapshot, comment_lines, gzipped, render
from exporters.text.self_metrics import render_self_metrics
from tests.exporters.exposition_text import Series, parsed, plain_text
from tests.exporters.snapshots import COMMON_CAUSE, HOSTILE_NAMES, NOON, small_snapshot, snapshot, status
from tests.support.hypothesis_profiles import examples

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
both_formats = pytest.mark.parametrize("form", ExpositionFormat, ids=lambda form: form.name.lower())

names = st.one_of(st.sampled_from(HOSTILE_NAMES), st.text(max_size=30))
maybe_number = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
maybe_count = st.one_of(st.none(), st.integers(0, 2**31 - 1))
maybe_moment = st.one_of(st.none(), st.integers(0, 4_102_444_800_000))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Generate a snapshot of a few groups with any names, numbers and nulls."""
    groups = draw(st.lists(names, unique=True, max_size=5))
    topics = draw(st.lists(names, unique=True, min_size=1, max_size=3))
    partition = st.fixed_dictionaries(
        {
            "committed_offset": maybe_number,
            "commit_time": maybe_moment,
            "progress_time": maybe_moment,
            "lag": maybe_number,
            "offset_expiry_time": maybe_moment,
        }
    )
    group = st.fixed_dictionaries(
        {
            **dict.fromkeys(("kind", "state", "protocol_type", "protocol", "death_cause"), st.one_of(st.none(), names)),
            **dict.fromkeys((name for name in GROUPS.names if GROUPS.field(name).type == pa.int32()), maybe_count),
            **dict.fromkeys((name for name in GROUPS.names if GROUPS.field(name).type == TIMESTAMP), maybe_moment),
            **dict.fromkeys(("lag_sum", "lag_max"), maybe_number),
            "state_asked": st.one_of(st.none(), st.booleans()),
        }
    )
    return snapshot(
        partitions=[
            {"group": name, "topic": topic, "partition": at, **draw(partition)}
            for name in groups
            for topic in topics
            for at in range(draw(st.integers(0, 2)))
        ],
        groups=[{"group": name, **draw(group)} for name in groups],
        unknown_lags=[{"group": name, "reason": draw(names), "partitions": 1} for name in groups[:2]],
        transitions=[{"group": name, "transition": draw(names), "count": 1} for name in groups[1:]],
    )


def expected(data: Snapshot) -> Series:
    """Return the samples of a snapshot, computed row by row without the renderer."""
    samples: Series = {}
    for metric in SNAPSHOT_METRICS:
        for row in getattr(data, metric.source.value).to_pylist():
            value = row[metric.column]
            if value is None or value in metric.omitted_values(data):
                continue
            if metric.conversion is ValueConversion.RANK:
                value = ("fine", "unknown", "notice", "warning", "critical").index(value)
            elif metric.conversion is ValueConversion.ONE:
                value = 1
            elif metric.conversion is ValueConversion.TIMESTAMP:
                value = (value - value.__class__(1970, 1, 1)).total_seconds()
            labels = {label: _label(row[label]) for label in metric.labels}
            samples[metric.name, frozenset(labels.items())] = value
    return samples


def _label(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@examples(50)
@given(data=snapshots())
def test_a_parser_reads_the_values_of_the_snapshot(data: Snapshot) -> None:
    """Law: in each format the parser returns exactly the samples of the snapshot."""
    exposition, wanted = render(data), expected(data)
    for form in ExpositionFormat:
        read = parsed(plain_text(exposition, form), form)
        assert read == wanted, form
        assert exposition.series == len(read), form


def test_fine_verdicts_of_the_snapshot_have_no_partition_series() -> None:
    """The snapshot has the severity of each verdict: fine verdicts leave no sample, whatever the rules name them."""
    partitions = [{"group": "g", "topic": "t", "partition": at, "verdict": word} for at, word in enumerate(("A", "B"))]
    for fine, shown in (("A", "B"), ("B", "A")):
        severities = [{"verdict": word, "severity": "fine" if word == fine else "critical"} for word in ("A", "B")]
        samples = parsed(plain_text(render(snapshot(partitions, verdict_groups=severities))))
        verdicts = [dict(labels) for name, labels in samples if name == "lagwarden_partition_verdict"]
        assert [labels["verdict"] for labels in verdicts] == [shown]


@both_formats
def test_golden_exposition(form: ExpositionFormat) -> None:
    """The text of the small snapshot, with all metrics, is exactly the reviewed one."""
    path = GOLDEN / f"{form.name.lower()}.txt"
    text = plain_text(PublishedSnapshot.build(small_snapshot()).exposition, form)
    assert text + ("# EOF\n" if form is ExpositionFormat.OPENMETRICS else "") == path.read_text("utf-8")


@both_formats
def test_rendering_in_parts_gives_the_same_text(form: ExpositionFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with more rows than are rendered at once has the same text and number of series."""
    whole = render(small_snapshot())
    monkeypatch.setattr("exporters.text.exposition.ROWS_AT_ONCE", 2)
    few = render(small_snapshot())
    assert plain_text(few, form) == plain_text(whole, form)
    assert few.series == whole.series


@both_formats
def test_long_texts_are_complete_without_gzip(form: ExpositionFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is kept only compressed is inflated, with its length known in advance."""
    wanted = plain_text(render(small_snapshot()), form)
    monkeypatch.setattr("exporters.text.compressed_text.KEPT_PLAIN", 0)
    parts = render(small_snapshot()).plain(form)
    assert all(isinstance(part, InflatedText) for part in parts)
    text = b"".join(each for part in parts for each in part)
    assert len(text) == sum(map(len, parts))
    assert text.decode() == wanted


@both_formats
def test_gzip_is_one_member_that_ends_with_the_last_text(form: ExpositionFormat) -> None:
    """The response is a single gzip member, because some readers stop after the first one."""
    exposition = render(small_snapshot())
    live = render_self_metrics(status(), NOON / 1000, form)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert inflate.decompress(b"".join(exposition.gzipped(form, live))) == b"".join(exposition.plain(form)) + live
    assert inflate.eof
    assert not inflate.unused_data


RENDERED = functools.cache(lambda: render(small_snapshot()))


@both_formats
@given(chosen=st.sets(st.sampled_from([metric.name for metric in SNAPSHOT_METRICS]), min_size=1))
def test_names_select_metrics(form: ExpositionFormat, chosen: set[str]) -> None:
    """Plain and compressed text have exactly the samples of the selected metrics."""
    exposition = RENDERED()
    text = b"".join(exposition.plain(form, chosen))
    assert {name for name, _ in parsed(text.decode(), form)} == {
        family.metric.name for family in exposition.families if family.metric.name in chosen
    }
    assert gzip.decompress(b"".join(exposition.gzipped(form, b"live\n", chosen))) == text + b"live\n"


def test_a_snapshot_without_groups_has_no_text() -> None:
    """Nor has a metric without samples. A published snapshot can be the key of a cache, by identity."""
    assert b"".join(render(snapshot()).plain(ExpositionFormat.TEXT)) == b""
    assert render(snapshot()).series == 0
    assert gzip.decompress(b"".join(EMPTY.gzipped(ExpositionFormat.TEXT, b"live\n"))) == b"live\n"
    assert gzip.decompress(b"".join(gzipped(b""))) == b""
    data = small_snapshot()
    published = PublishedSnapshot.build(data)
    assert published.snapshot is data
    assert published.exposition.series == len(parsed(plain_text(published.exposition)))
    assert len({published, PublishedSnapshot.build(data)}) == 2


def test_comment_lines_name_the_type() -> None:
    """The text format has an info as a gauge with its suffix; OpenMetrics has the family and its unit."""
    for metric in SNAPSHOT_METRICS:
        text = comment_lines(metric, ExpositionFormat.TEXT).decode()
        openmetrics = comment_lines(metric, ExpositionFormat.OPENMETRICS).decode()
        kind = "gauge" if metric.kind is MetricKind.INFO else metric.kind.value
        assert f"# TYPE {metric.name} {kind}\n" in text
        assert f"# TYPE {metric.family} {metric.kind.value}\n" in openmetrics
        assert ("# UNIT" in openmetrics) == bool(metric.unit), metric.name
        assert "# UNIT" not in text


def test_a_common_cause_and_its_groups_have_series() -> None:
    """A common cause has a series with the number of its groups, and each of these groups has a series."""
    text = plain_text(render(snapshot(common_causes=[COMMON_CAUSE])))
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'lagwarden_common_cause_groups{dimension="coordinator",key="3"} 2',
        'lagwarden_common_cause_muted_groups{dimension="coordinator",key="3"} 1',
        'lagwarden_common_cause_timestamp_seconds{dimension="coordinator",key="3"} 1699999910.000',
        'lagwarden_group_common_cause{group="a/b",dimension="coordinator",key="3"} 1',
        'lagwarden_group_common_cause{group="billing",dimension="coordinator",key="3"} 1',
    ]
