"""`lagwarden explain` as a person types it, and what `lagwarden top` says where it cannot be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.cli.render.tables import display_text
from stream.errors import ExitCode
from tests.exporters.snapshots import CATCHING_UP, HOSTILE_NAMES, detail, small_world, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporters.readmodel import GroupDetail


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide what the person running the tests has configured."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)


def server_of(published: PublishedSnapshot | None, **changes: object) -> HttpServer:
    """Serve a world on the loopback, billing with its detail."""

    def details(name: str) -> GroupDetail | None:
        return detail() if name == "billing" else None

    server = HttpServer("127.0.0.1", 0, lambda: published, lambda: status(**changes), details)
    server.start()
    return server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small world."""
    server = server_of(PublishedSnapshot.build(small_world()))
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """Serve groups with all the names that somebody could choose to annoy."""
    rows = [{"group": name, "verdict": "ok", "severity": "fine"} for name in (*HOSTILE_NAMES, ".", "..")]
    server = server_of(PublishedSnapshot.build(snapshot(groups=rows)))
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def test_a_group_is_explained(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In plain lines where stdout is no terminal: no colours, no sentence cut. Remarks stand on stderr."""
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert out.startswith("billing: stopped (critical) for 30 s.\n1 of 2 partitions;")
    assert "\x1b" not in out
    assert "these numbers are" in err


def test_json_is_that_of_the_api(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get the very answer of the API."""
    assert cli.main(["explain", "billing", "--json", "--url", url]) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    assert answer["finding"]["verdict"] == "stopped"
    assert len(answer["findings"]) == 2


@pytest.mark.parametrize("columns", [60, 200])
def test_on_a_terminal_it_is_as_wide_as_that(
    url: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences and tables are wrapped at the edge, with the indent they have."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, out)) <= columns
    assert len(max(out, key=len)) > columns * 0.7


def test_colours_only_on_a_terminal(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict has the colour of its severity."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    assert "\x1b[1;31mstopped (critical)\x1b[0m" in capsys.readouterr().out


def test_a_missing_group(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest names are offered, and it has its own exit code."""
    assert cli.main(["explain", "biling", "--url", url]) == ExitCode.NO_SUCH_GROUP
    assert capsys.readouterr() == ("", "error: there is no group named biling; did you mean billing?\n")


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, ".", ".."], ids=ascii)
def test_any_name_can_be_given(name: str, hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a group is called it is found by that name, and shown as text that prints."""
    assert cli.main(["explain", "--url", hostile, "--", name]) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.startswith(f"{display_text(name)}: ")
    assert all(line.isprintable() for line in out.splitlines())


def test_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """What can be done is said; these verbs read no capture, so none is offered."""
    for verb in (["explain", "billing"], ["top"]):
        code = cli.main([*verb, "--url", "http://127.0.0.1:9"])
        assert code == (ExitCode.NO_INSTANCE if verb[0] == "explain" else ExitCode.USAGE)
        said = capsys.readouterr().err
        assert "--capture" not in said
        assert len(said.splitlines()) == 1


def test_not_ready_yet(capsys: pytest.CaptureFixture[str]) -> None:
    """An instance that is catching up says so."""
    server = server_of(None, **CATCHING_UP)
    try:
        assert cli.main(["explain", "a", "--url", f"http://127.0.0.1:{server.port}"]) == ExitCode.NOT_READY
    finally:
        server.stop()
    assert "not ready yet: catching up" in capsys.readouterr().err


def test_top_needs_a_terminal(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe it says so, names the verb that does work there, and draws nothing."""
    assert cli.main(["top", "--url", url]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "draws on a terminal" in err
    assert "`lagwarden groups`" in err


def test_explaining_loads_nothing_heavy(url: str) -> None:
    """It is there at once: neither Spark nor Arrow nor a Kafka client is loaded."""
    heavy = ("pyspark", "kafka", "pandas", "pyarrow", "numpy", "starlette", "textual")
    script = (
        "import sys; from stream.cli.app import main; code = main(sys.argv[1:]);"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "explain", "billing", "--url", url], capture_output=True, text=True, check=True
    )
    assert ran.stderr.splitlines()[-1] == "[]"
