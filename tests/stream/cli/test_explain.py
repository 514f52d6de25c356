"""`lagwarden explain`, and the errors of `lagwarden top` before it draws."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest

from exporters.http.server import HttpServer
from exporters.readmodel import OtherInstance
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.cli.render.tables import display_text
from stream.errors import ExitCode
from tests.exporters.snapshots import CATCHING_UP, HOSTILE_NAMES, detail, small_snapshot, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporters.readmodel import GroupDetail


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the options of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)


def server_of(published: PublishedSnapshot | None, **changes: object) -> HttpServer:
    """Serve a snapshot on the loopback interface, with details of billing."""

    def details(name: str) -> GroupDetail | None:
        return detail() if name == "billing" else None

    server = HttpServer("127.0.0.1", 0, lambda: published, lambda: status(**changes), details)
    server.start()
    return server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small snapshot; returns the URL."""
    server = server_of(PublishedSnapshot.build(small_snapshot()))
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """Serve groups with hostile names; returns the URL."""
    rows = [{"group": name, "verdict": "ok", "severity": "fine"} for name in (*HOSTILE_NAMES, ".", "..")]
    server = server_of(PublishedSnapshot.build(snapshot(groups=rows)))
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def test_group_is_explained_in_plain_lines(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has no colours and no wrapped lines without a terminal. Notes are printed on stderr."""
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert out.startswith("billing: stopped (critical) for 30 s.\n1 of 2 partitions;")
    assert "\x1b" not in out
    assert "these numbers are" in err


def test_json_is_the_answer_of_the_api(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints the whole answer of the API with the finding of the group and those of its partitions."""
    assert cli.main(["explain", "billing", "--json", "--url", url]) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    with urllib.request.urlopen(f"{url}/api/v1/group?name=billing") as response:  # noqa: S310 -- the server of the test
        assert answer == json.load(response)
    assert answer["finding"]["verdict"] == "stopped"
    assert len(answer["findings"]) == 2


@pytest.mark.parametrize("columns", [60, 200])
def test_explanation_fills_the_width_of_the_terminal(
    url: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wider than the terminal, and the widest line uses most of the width."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, out)) <= columns
    assert len(max(out, key=len)) > columns * 0.7


def test_terminal_gets_colours(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict has the colour of its severity."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.main(["explain", "billing", "--url", url]) == ExitCode.OK
    assert "\x1b[1;31mstopped (critical)\x1b[0m" in capsys.readouterr().out


def test_unknown_group(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the nearest names and its own exit code."""
    assert cli.main(["explain", "biling", "--url", url]) == ExitCode.NO_SUCH_GROUP
    assert capsys.readouterr() == ("", "error: there is no group named biling; did you mean billing?\n")


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, ".", ".."], ids=ascii)
def test_any_name_can_be_given(name: str, hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A group is found by any name, which is printed escaped."""
    assert cli.main(["explain", "--url", hostile, "--", name]) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.startswith(f"{display_text(name)}: ")
    assert all(line.isprintable() for line in out.splitlines())


def test_no_instance_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """The advice does not name --capture: these commands read no captures."""
    for command in (["explain", "billing"], ["top"]):
        code = cli.main([*command, "--url", "http://127.0.0.1:9"])
        assert code == (ExitCode.NO_INSTANCE if command[0] == "explain" else ExitCode.USAGE)
        error = capsys.readouterr().err
        assert "--capture" not in error
        assert len(error.splitlines()) == 1


def test_not_ready_yet(capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the phase of an instance that is catching up."""
    server = server_of(None, **CATCHING_UP)
    try:
        assert cli.main(["explain", "a", "--url", f"http://127.0.0.1:{server.port}"]) == ExitCode.NOT_READY
    finally:
        server.stop()
    assert "not ready yet: catching up" in capsys.readouterr().err


def test_top_needs_a_terminal(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is drawn in a pipe. The error names the command that prints a table."""
    assert cli.main(["top", "--url", url]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "needs a terminal" in err
    assert "`lagwarden groups`" in err


def test_explain_loads_nothing_heavy(url: str) -> None:
    """Neither Spark nor Arrow nor a Kafka client is loaded."""
    heavy = ("pyspark", "kafka", "pandas", "pyarrow", "numpy", "starlette", "textual")
    script = (
        "import sys; from stream.cli.app import main; code = main(sys.argv[1:]);"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "explain", "billing", "--url", url], capture_output=True, text=True, check=True
    )
    assert ran.stderr.splitlines()[-1] == "[]"


def test_a_group_of_another_instance_names_its_address(capfd: pytest.CaptureFixture[str]) -> None:
    """The error names the instance to request, and the command for it."""
    other = OtherInstance("1/3", "http://other:10848")
    published = PublishedSnapshot.build(small_snapshot())
    server = HttpServer("127.0.0.1", 0, lambda: published, status, other_instance=lambda _: other)
    server.start()
    try:
        code = cli.main(["explain", "elsewhere", "--url", f"http://127.0.0.1:{server.port}"])
    finally:
        server.stop()
    assert code == ExitCode.NO_SUCH_GROUP
    errors = capfd.readouterr().err
    assert "instance 1/3 monitors groups named elsewhere, not this one" in errors
    assert "use --url http://other:10848" in errors


def test_the_groups_of_one_of_several_instances_are_not_all(capfd: pytest.CaptureFixture[str]) -> None:
    """A note has the part of this instance and the URLs of the others, with and without --json."""
    urls = ("http://a:1", "http://b:1", "http://c:1")
    server = server_of(PublishedSnapshot.build(small_snapshot()), part="1/3", instances=3, siblings=urls)
    try:
        for arguments in (["groups"], ["groups", "--json"]):
            assert cli.main([*arguments, "--url", f"http://127.0.0.1:{server.port}"]) == ExitCode.OK
            errors = capfd.readouterr().err
            assert errors.count("these are the groups of instance 1/3; the others: http://a:1, http://c:1") == 1
    finally:
        server.stop()
