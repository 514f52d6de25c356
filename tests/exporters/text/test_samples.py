"""Columns as sample lines: the exact characters."""

import decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.groups import GROUPS
from exporters.catalogue.metric import Metric, MetricKind, ValueConversion
from exporters.text.samples import escape, label_texts, value_texts

INT64 = st.integers(-(2**63), 2**63 - 1)


def metric(conversion: ValueConversion = ValueConversion.NUMBER, labels: tuple[str, ...] = ()) -> Metric:
    return Metric("m", MetricKind.GAUGE, "Help.", GROUPS.source, "value", labels, conversion=conversion)


def values(column: pa.Array, conversion: ValueConversion) -> list[str | None]:
    return value_texts(metric(conversion), pa.table({"value": column})).to_pylist()


ESCAPED = {
    "plain": "plain",
    '"': r"\"",
    "\\": r"\\",
    "\n": r"\n",
    "\\n": r"\\n",
    "\r\t\x00": "\r\t\x00",
    "ü消\ufffd": "ü消\ufffd",
}


def test_labels_are_escaped_and_in_order() -> None:
    """A backslash, a quote and a line feed are escaped; the labels are in the order of the catalogue."""
    shown = label_texts(pa.table({"a": list(ESCAPED)}), ["a"]).to_pylist()
    assert shown == [f'{{a="{text}"}} ' for text in ESCAPED.values()]
    assert {name: escape(name) for name in ESCAPED} == ESCAPED
    rows = pa.table({"partition": pa.array([3], pa.int32()), "group": ["g"], "topic": ["t"]})
    assert label_texts(rows, ["group", "topic", "partition"]).to_pylist() == ['{group="g",topic="t",partition="3"} ']


@given(st.lists(st.one_of(st.none(), st.text()), min_size=1))
def test_dictionary_and_plain_columns_give_the_same_labels(names: list[str | None]) -> None:
    """Law: dictionary, plain and chunked columns have the same text; null is the empty string."""
    expected = [f'{{a="{escape(name or "")}"}} ' for name in names]
    plain = pa.array(names, pa.string())
    chunked = pa.chunked_array([plain.slice(0, 1).dictionary_encode(), plain.slice(1).dictionary_encode()])
    for column in (plain, plain.dictionary_encode(), chunked):
        assert label_texts(pa.table({"a": column}), ["a"]).to_pylist() == expected


@given(st.lists(st.one_of(st.none(), INT64)))
def test_whole_numbers_are_exact(numbers: list[int | None]) -> None:
    """Law: every 64-bit number is written without exponent; null stays null."""
    expected = [None if number is None else str(number) for number in numbers]
    assert values(pa.array(numbers, pa.int64()), ValueConversion.NUMBER) == expected


@given(st.lists(st.one_of(st.none(), INT64)))
def test_times_are_exact_to_the_millisecond(times: list[int | None]) -> None:
    """Law: a time is its milliseconds divided by 1000 in decimal, without rounding, also before 1970."""
    expected = [None if at is None else f"{decimal.Decimal(at).scaleb(-3):.3f}" for at in times]
    assert values(pa.array(times, pa.int64()).cast(pa.timestamp("ms")), ValueConversion.TIMESTAMP) == expected
