"""What a shell completes: the values of filters, and the groups of a running instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.exporters.snapshots import small_snapshot, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("payments", "payments-eu", "other", "with blank", "with\nline feed", "")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve groups of these names; returns the URL."""
    published = PublishedSnapshot.build(snapshot(groups=[{"group": name} for name in sorted(NAMES)]))
    server = HttpServer("127.0.0.1", 0, lambda: published, status, lambda _: None)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def complete(words: str, url: str) -> Result:
    """Complete the last word of a command line, as bash does."""
    environment = {
        "_LAGWARDEN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "LAGWARDEN_URL": url,
    }
    return CliRunner().invoke(cli.app, prog_name="lagwarden", env=environment)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lagwarden gr", ["groups"]),
        ("lagwarden groups --severity cr", ["critical"]),
        ("lagwarden groups --sort l", ["lag", "last_commit"]),
        ("lagwarden groups --state Em", ["Empty"]),
        ("lagwarden explain pay", ["payments", "payments-eu"]),
        ("lagwarden groups describe oth", ["other"]),
        ("lagwarden check wi", []),
    ],
)
def test_words_are_completed(words: str, found: list[str], url: str) -> None:
    """Commands, values of filters and groups are completed. A name that bash would split is left out."""
    assert complete(words, url).stdout.split() == found


def test_without_an_instance_there_are_no_groups() -> None:
    """An instance that does not answer gives no completions and no output, also on stderr."""
    result = complete("lagwarden explain pay", "http://127.0.0.1:1")
    assert (result.stdout.split(), result.stderr, result.exit_code) == ([], "", ExitCode.OK)


def test_a_misspelt_verdict_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """The instance refuses an unknown verdict, and its error suggests the nearest one."""
    published = PublishedSnapshot.build(small_snapshot())
    server = HttpServer("127.0.0.1", 0, lambda: published, status, lambda _: None)
    server.start()
    try:
        code = cli.main(["groups", "--verdict", "stoped", "--url", f"http://127.0.0.1:{server.port}"])
    finally:
        server.stop()
    assert code == ExitCode.USAGE
    assert "did you mean stopped?" in capsys.readouterr().err
