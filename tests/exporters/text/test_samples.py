"""Columns as sample lines: the exact characters."""

import decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, ValueConversion
from exporters.text.samples import escape, label_texts, sample_lines, value_texts

INT64 = st.integers(-(2**63), 2**63 - 1)


def metric(conversion: ValueConversion = ValueConversion.NUMBER, labels: tuple[str, ...] = ()) -> Metric:
    return Metric("m", MetricKind.GAUGE, "Help.", MetricSource.GROUPS, "value", labels, conversion=conversion)


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


def test_the_name_of_the_cluster_is_a_label_of_each_row() -> None:
    """The name of the cluster is escaped like other names, and no series has the label twice.

    A metric without labels has no braces.
    """
    rows = pa.table({"group": ["g", "g"], "cluster": ["prod", "prod"]})
    assert label_texts(rows, []).to_pylist() == [" ", " "]
    for labels, text in (
        (["group"], r'{cluster="a\"b\\",group="g"} '),
        ([], r'{cluster="a\"b\\"} '),
        (["cluster", "group"], '{cluster="prod",group="g"} '),
    ):
        assert label_texts(rows, labels, 'a"b\\').to_pylist() == [text, text]


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


def test_a_row_without_a_value_has_no_line() -> None:
    """A row without a value has no line, and a column without values no text."""
    rows = pa.table({"a": ["x", "y", "z"], "value": [1, None, 3]})
    labels = label_texts(rows, ["a"])
    assert sample_lines(metric(labels=("a",)), labels, rows) == (b'm{a="x"} 1\nm{a="z"} 3\n', 2)
    for column in (pa.array([], pa.int64()), pa.nulls(3, pa.int64())):
        rows = pa.table({"value": column})
        assert sample_lines(metric(), label_texts(rows, []), rows) == (b"", 0)


def test_words_and_flags_become_numbers() -> None:
    """Information is 1, the ranks are from 0 for fine to 4 for critical, a flag is 1 or 0; null has no value.

    Words that are no severity, and omitted values, have none either.
    """
    words = pa.array(["critical", "fine", None, "unknown", "notice", "warning", "awful"]).dictionary_encode()
    assert values(words, ValueConversion.RANK) == ["4", "0", None, "1", "2", "3", None]
    assert values(pa.array(["a", None]).dictionary_encode(), ValueConversion.ONE) == ["1", None]
    assert values(pa.array([True, False, None]), ValueConversion.NUMBER) == ["1", "0", None]
    column = pa.array(["ok", "stopped", None, "caught_up", "okay"], pa.string()).dictionary_encode()
    texts = value_texts(metric(ValueConversion.ONE), pa.table({"value": column}), ("ok", "caught_up"))
    assert texts.to_pylist() == [None, "1", None, None, "1"]
