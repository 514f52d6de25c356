"""Jar sets: what is fetched is what is listed, whole and verified, or nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from sandbox.kafka import jars

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = {"a-1.jar": b"first", "b-2.jar": b"second"}


@pytest.fixture
def small_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Give the rows of a made-up set `small` in an empty cache."""
    rows = {jar: hashlib.sha256(content).hexdigest() for jar, content in CONTENT.items()}
    listed = tmp_path / "jars.sha256"
    listed.write_text("".join(f"{digest}  small/{jar}\n" for jar, digest in rows.items()))
    monkeypatch.setattr(jars, "CHECKSUMS", listed)
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return rows


def ivy_that_brings(content: dict[str, bytes], calls: list[str]) -> object:
    """Stand in for Ivy: note the call and lay these files down."""

    def run(name: str, target: Path, _cache: Path, _wanted: int) -> None:
        calls.append(name)
        for jar, bytes_ in content.items():
            (target / jar).write_bytes(bytes_)

    return run


@pytest.mark.parametrize("name", jars.known_sets())
def test_ivy_file_and_checksums_name_the_same_jars(name: str) -> None:
    """Every dependency of a set has its checksum and every checksum its dependency; nothing is transitive."""
    dependencies = ET.parse(jars.HERE / f"ivy-{name}.xml").getroot().findall(".//dependency")  # noqa: S314 - our file
    assert {f"{each.get('name')}-{each.get('rev')}.jar" for each in dependencies} == jars.checksums(name).keys()
    assert {each.get("transitive") for each in dependencies} == {"false"}


def test_sets_have_the_number_of_jars_that_were_proven() -> None:
    """The connector is 4 jars and the lean broker 34: one less boots too, and fails only when it must replicate."""
    assert len(jars.checksums("connector")) == 4
    assert len(jars.checksums("broker-4.3.1")) == 34


def test_set_is_fetched_once(small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request for a complete set asks nobody."""
    calls: list[str] = []
    monkeypatch.setattr(jars, "_run_ivy", ivy_that_brings(CONTENT, calls))
    first = jars.jar_set("small")
    assert [jar.name for jar in first] == sorted(small_set)
    assert jars.jar_set("small") == first
    assert calls == ["small"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param({"a-1.jar": b"first"}, "1 of 2 jars did not come: b-2.jar", id="ivy leaves one out in silence"),
        pytest.param({**CONTENT, "c-3.jar": b""}, "without a checksum", id="one came that nobody listed"),
        pytest.param({**CONTENT, "b-2.jar": b"other"}, "b-2.jar is not the file", id="one has another content"),
    ],
)
def test_wrong_jars_are_refused(
    small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch, content: dict[str, bytes], reason: str
) -> None:
    """A set that is not exactly what is listed never appears in the cache, and a later try can mend it."""
    monkeypatch.setattr(jars, "_run_ivy", ivy_that_brings(content, []))
    with pytest.raises(jars.JarError, match=reason):
        jars.jar_set("small")
    monkeypatch.setattr(jars, "_run_ivy", ivy_that_brings(CONTENT, []))
    assert len(jars.jar_set("small")) == len(small_set)


def test_half_a_set_in_the_cache_is_fetched_again(small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar that was deleted from the cache comes back."""
    monkeypatch.setattr(jars, "_run_ivy", ivy_that_brings(CONTENT, []))
    jars.jar_set("small")[0].unlink()
    assert all(jar.exists() for jar in jars.jar_set("small"))
    assert small_set


@pytest.mark.usefixtures("small_set")
def test_unknown_set_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped set is one line on standard error and exit code 1."""
    assert jars.main(["smal"]) == 1
    assert capsys.readouterr().err == "jars: no jar set 'smal': the sets are small\n"


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        pytest.param(
            ["found x", ":::: ERRORS", "Server access error at url https://host/x (UnknownHost)", "USE VERBOSE"],
            "Server access error at url https://host/x (UnknownHost)",
            id="network away",
        ),
        pytest.param(["WARNINGS", ":: org#name;1: not found", ""], "org#name;1: not found", id="no such version"),
        pytest.param(["last words", ""], "last words", id="something else"),
        pytest.param([], "it said nothing", id="nothing"),
    ],
)
def test_cause_is_picked_from_ivys_output(said: list[str], cause: str) -> None:
    """Of Ivy's page of output the one line that matters is shown."""
    assert jars._cause(said) == cause
