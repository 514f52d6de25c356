"""The rendered snapshot against a golden text and the parsers of prometheus_client."""

import dataclasses
import functools
import gzip
import pathlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.metric import ValueConversion
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.catalogue.partitions import PARTITIONS
from exporters.readmodel import GROUPS, TIMESTAMP, Snapshot
from exporters.text.exposition import EMPTY, ExpositionFormat, PublishedSnapshot, gzipped, render
from tests.exporters.exposition_text import Series, parsed, plain_text
from tests.exporters.snapshots import HOSTILE_NAMES, small_snapshot, snapshot
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
            "state_described": st.one_of(st.none(), st.booleans()),
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
        for row in metric.source.rows(data).to_pylist():
            value = row[metric.column]
            if value is None or (metric.omits_fine and value in data.fine_verdicts):
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


@examples(50)
@given(before=snapshots(), after=snapshots(), names=st.permutations(["a", "b"]))
def test_only_what_changed_is_rendered_again(before: Snapshot, after: Snapshot, names: list[str]) -> None:
    """Law: an exposition that continues a previous one has the same text as a new one."""
    rows = [{"group": name, "topic": "t", "partition": 0, "lag": 1} for name in names]
    before = dataclasses.replace(before, partitions=snapshot([rows[0] | {"group": "a"}]).partitions)
    after = dataclasses.replace(after, partitions=snapshot(rows[:1]).partitions)
    previous, new = render(before), render(after)
    continued = render(after, previous=previous)
    for form in ExpositionFormat:
        assert b"".join(continued.plain(form)) == b"".join(new.plain(form))
        assert continued.gzipped(form, b"live\n") == new.gzipped(form, b"live\n")
    unchanged = [family for family in previous.families if family.metric.source == PARTITIONS.source]
    assert unchanged
    assert all((family in continued.families) == (names == ["a", "b"]) for family in unchanged)


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
