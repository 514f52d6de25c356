"""Jar sets are complete and verified, or absent."""

import hashlib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sandbox.kafka import jars

CONTENT = {"a-1.jar": b"first", "b-2.jar": b"second"}


@pytest.fixture
def small_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the rows of an invented set `small`, with an empty cache."""
    rows = {jar: hashlib.sha256(content).hexdigest() for jar, content in CONTENT.items()}
    listed = tmp_path / "jars.sha256"
    listed.write_text("".join(f"{digest}  small/{jar}\n" for jar, digest in rows.items()))
    monkeypatch.setattr(jars, "CHECKSUMS", listed)
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return rows


def ivy_with(content: dict[str, bytes]) -> object:
    """Return a replacement for Ivy that writes these files."""

    def run(_name: str, target: Path, _cache: Path, _wanted: int) -> None:
        for jar, bytes_ in content.items():
            (target / jar).write_bytes(bytes_)

    return run


def test_ivy_files_and_checksums_name_the_same_jars() -> None:
    """Every dependency of a set has its checksum and every checksum its dependency; nothing is transitive."""
    assert len(jars.checksums("broker-4.3.1")) == 34
    for name in jars.known_sets():
        dependencies = ET.parse(jars.HERE / f"ivy-{name}.xml").getroot().findall(".//dependency")  # noqa: S314 - our file
        assert {f"{each.get('name')}-{each.get('rev')}.jar" for each in dependencies} == jars.checksums(name).keys()
        assert {each.get("transitive") for each in dependencies} == {"false"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param({"a-1.jar": b"first"}, "1 of 2 jars were not fetched: b-2.jar", id="missing jar"),
        pytest.param({**CONTENT, "c-3.jar": b""}, "without a checksum", id="jar without a checksum"),
        pytest.param({**CONTENT, "b-2.jar": b"other"}, "b-2.jar differs from its sha256", id="jar with other content"),
    ],
)
def test_wrong_jars_are_an_error(
    small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch, content: dict[str, bytes], reason: str
) -> None:
    """A set that differs from the list is not stored in the cache, and the next attempt starts again."""
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(content))
    with pytest.raises(jars.JarError, match=reason):
        jars.jar_set("small")
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(CONTENT))
    assert len(jars.jar_set("small")) == len(small_set)
