"""Reading rendered sample lines."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.otlp.data_points import parse_samples
from exporters.text.samples import label_texts
from tests.exporters.snapshots import HOSTILE_NAMES


def rendered(names: list[str]) -> bytes:
    """Return a sample per name as `/metrics` renders it, with the number of the row as value."""
    labels = label_texts(pa.table({"group": names, "topic": ["t"] * len(names)}), ["group", "topic"])
    return b"".join(f"m{text}{row}\n".encode() for row, text in enumerate(labels.to_pylist()))


def read(text: bytes, size: int = 1 << 20) -> list[tuple[dict[str, str], float]]:
    """Return the samples of a text that arrives in pieces of this size."""
    return list(parse_samples(text[at : at + size] for at in range(0, len(text), size)))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_unusual_names_are_read_as_they_are(size: int) -> None:
    """Names are read exactly, however the text is cut; an empty label is missing."""
    expected = [({**({"group": name} if name else {}), "topic": "t"}, row) for row, name in enumerate(HOSTILE_NAMES)]
    assert read(rendered(list(HOSTILE_NAMES)), size) == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)))
def test_reading_is_the_inverse_of_rendering(names: list[str]) -> None:
    """Reading rendered samples returns the label, whatever its text."""
    assert [labels["group"] for labels, _ in read(rendered(names))] == names


def test_a_sample_without_labels_has_none() -> None:
    """A sample without labels is read; fractions, exponents and negative numbers are values."""
    assert read(b"m 1.5\nm -2e3\nm 7\n") == [({}, 1.5), ({}, -2000.0), ({}, 7.0)]
