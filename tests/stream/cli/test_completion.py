"""What a shell completes: commands, options, the values of filters, and the groups of a running instance."""

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from stream.cli import app as cli
from stream.errors import ExitCode
from tests.exporters.serving import serving_url
from tests.exporters.snapshots import snapshot
from tests.stream.cli.command_line import CommandLine

NAMES = ("payments", "payments-eu", "other", "with blank", "with\nline feed", "")
WORDS = {
    "lagwarden gr": ["groups"],
    "lagwarden groups de": ["describe"],
    "lagwarden groups --so": ["--sort"],
    "lagwarden no-such-": [],
    "lagwarden groups --severity cr": ["critical"],
    "lagwarden groups --sort l": ["lag", "last_commit"],
    "lagwarden groups --state Em": ["Empty"],
    "lagwarden explain pay": ["payments", "payments-eu"],
    "lagwarden groups describe oth": ["other"],
    "lagwarden check wi": [],
}


@pytest.fixture(scope="module")
def named() -> Iterator[str]:
    """Serve groups of these names; returns the URL."""
    with serving_url(snapshot(groups=[{"group": name} for name in sorted(NAMES)])) as address:
        yield address


def complete(words: str, url: str) -> Result:
    """Complete the last word of a command line, as bash does."""
    environment = {
        "_LAGWARDEN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "LAGWARDEN_URL": url,
    }
    return CliRunner().invoke(cli.app, prog_name="lagwarden", env=environment)


def test_words_are_completed(named: str) -> None:
    """Commands, options, values and groups are completed. A name that bash would split is left out."""
    assert {words: complete(words, named).stdout.split() for words in WORDS} == WORDS


def test_without_an_instance_there_are_no_groups() -> None:
    """An instance that does not answer gives no completions and no output, also on stderr."""
    result = complete("lagwarden explain pay", "http://127.0.0.1:1")
    assert (result.stdout.split(), result.stderr, result.exit_code) == ([], "", ExitCode.OK)


def test_a_misspelt_verdict_is_wrong_usage(url: str, command: CommandLine) -> None:
    """The instance refuses an unknown verdict, and its error suggests the nearest one."""
    assert "did you mean stopped?" in command.fails("groups", "--verdict", "stoped", "--url", url)
