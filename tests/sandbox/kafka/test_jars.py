"""Jar sets are complete and verified, or absent."""

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
    """Return the rows of an invented set `small`, with an empty cache."""
    rows = {jar: hashlib.sha256(content).hexdigest() for jar, content in CONTENT.items()}
    listed = tmp_path / "jars.sha256"
    listed.write_text("".join(f"{digest}  small/{jar}\n" for jar, digest in rows.items()))
    monkeypatch.setattr(jars, "CHECKSUMS", listed)
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return rows


def ivy_with(content: dict[str, bytes], calls: list[str]) -> object:
    """Return a replacement for Ivy that records its calls and writes these files."""

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


def test_the_broker_has_the_tested_number_of_jars() -> None:
    """The list has 34 jars; a broker without one of them starts, and fails only when it needs the class."""
    assert len(jars.checksums("broker-4.3.1")) == 34


def test_every_broker_has_its_jars_and_tools() -> None:
    """The releases are the sets of brokers, and a release without tools of its own has those of another one."""
    assert [f"broker-{version}" for version in jars.RELEASES] == [
        name for name in jars.known_sets() if name.startswith("broker-")
    ]
    for version in jars.RELEASES:
        tools = jars.TOOLS.get(version, version)
        assert f"kafka-tools-{tools}.jar" in jars.checksums(f"broker-{tools}")


def test_set_is_fetched_once(small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request for a complete set fetches nothing."""
    calls: list[str] = []
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(CONTENT, calls))
    first = jars.jar_set("small")
    assert [jar.name for jar in first] == sorted(small_set)
    assert jars.jar_set("small") == first
    assert calls == ["small"]


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
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(content, []))
    with pytest.raises(jars.JarError, match=reason):
        jars.jar_set("small")
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(CONTENT, []))
    assert len(jars.jar_set("small")) == len(small_set)


def test_incomplete_set_in_the_cache_is_fetched_again(
    small_set: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jar that was deleted from the cache is fetched again."""
    monkeypatch.setattr(jars, "_run_ivy", ivy_with(CONTENT, []))
    jars.jar_set("small")[0].unlink()
    assert all(jar.exists() for jar in jars.jar_set("small"))
    assert small_set


@pytest.mark.usefixtures("small_set")
def test_unknown_set_is_an_error_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name gives one line on standard error and exit code 1."""
    assert jars.main(["smal"]) == 1
    assert capsys.readouterr().err == "jars: no jar set 'smal': the sets are small\n"


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        pytest.param(
            ["found x", ":::: ERRORS", "Server access error at url https://host/x (UnknownHost)", "USE VERBOSE"],
            "Server access error at url https://host/x (UnknownHost)",
            id="no network",
        ),
        pytest.param(["WARNINGS", ":: org#name;1: not found", ""], "org#name;1: not found", id="no such version"),
        pytest.param(["last line", ""], "last line", id="another error"),
        pytest.param([], "no output", id="no output"),
    ],
)
def test_cause_is_found_in_the_output_of_ivy(output: list[str], cause: str) -> None:
    """The message has the one line of Ivy's output that names the error."""
    assert jars._cause(output) == cause
