"""Names, addresses and metadata that clients chose: no command prints a terminal sequence from them."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.http.openapi.small_world import NOON
from exporters.readmodel import FindingDetail, GroupDetail, TransitionDetail, VerdictChange
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import printable
from sandbox.kafka import log_writer as write
from stream.cli.render.stdout import printable_json
from stream.errors import ExitCode
from tests.exporters.serving import serving
from tests.exporters.snapshots import detail, member, snapshot
from tests.stream.cli.command_line import CommandLine
from tests.stream.groups import written
from tests.stream.offline.captures import capture_of, row
from tests.support.raw import commit_key, commit_value, group_key

HOSTILE = ("\x1b]0;owned\x07\x1b[2Ja\x9b31mred", "\u202egnp.exe two\r\nlines \u2028 \x7f\x08", "\x00")
"""A title, a cleared screen and a colour by one byte; turned text, lines, a separator of lines, deletions; a null."""
STRANGER = "\x1b[2J stranger"
"""The name of no group."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture whose every string is hostile. One record per group is cut off."""
    rows = []
    for at, name in enumerate(HOSTILE):
        member = written.classic_member(
            name, instance=name, wants=written.subscription(name, "t"), has=written.assignment({name: (0,)})
        )
        group = written.classic(member, protocol=name)[1]
        rows += [
            row(10 * at, group_key(name), group),
            row(10 * at + 1, commit_key(name, name, 0), commit_value(5, 1000, metadata=name)),
            row(10 * at + 2, commit_key(name, name, 1), commit_value(5, 1000, version=4, metadata=name)),
            row(10 * at + 3, commit_key(name, name, 1), None),
            row(10 * at + 4, commit_key(name, name, 0), commit_value(2, 1000)[:9]),
        ]
    return capture_of(tmp_path_factory.mktemp("hostile") / "hostile.avro", rows)


TEXTS = ("instance_id", "client_id", "client_host", "rack", "state", "regex", "assignor")
"""The texts of a member beside its id."""


def hostile_detail(name: str) -> GroupDetail | None:
    """Return the detail of a group whose every string is hostile; None for the stranger."""
    if name not in HOSTILE:
        return None
    finding = FindingDetail(name, name, NOON / 1000, name, {"member": name}, name)
    return detail(
        name,
        members=(member(name, assignment=((name, (0,)),), **dict.fromkeys(TEXTS, name)),),
        transitions=(TransitionDetail(NOON / 1000, "dead", name, name, live=True, joined=0, left=0),),
        unowned=((name, (4,)),),
        unsubscribed=(name,),
        finding=finding,
        partition_findings=((name, 0, finding),),
        verdicts=(VerdictChange(NOON / 1000, None, name, name),),
    )


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """Serve groups with these names; returns the URL."""
    words = ("group", "kind", "state", "protocol", "verdict", "severity", "sentence")
    world = snapshot(
        groups=[dict.fromkeys(words, name) for name in HOSTILE],
        partitions=[{"group": name, "topic": name, "partition": 0} for name in HOSTILE],
    )
    with serving(PublishedSnapshot.build(world), details=hostile_detail) as server:
        yield f"http://127.0.0.1:{server.port}"


class PrintableCommandLine(CommandLine):
    """Checks that all output is printable."""

    def run(self, *arguments: str, code: int | None = ExitCode.OK) -> list[list[str]]:
        found = super().run(*arguments, code=code)
        for text in (self.out, self.err):
            bad = {sign for sign in text if not sign.isprintable() and sign != "\n"}
            assert not bad, (arguments, bad, text[:400])
        return found


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> PrintableCommandLine:
    """Return a runner that checks the output of each command line."""
    return PrintableCommandLine(capsys)


@pytest.fixture(params=[False, True], ids=["pipe", "terminal"])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Print into a pipe, and on a simulated terminal without colours."""
    is_terminal = bool(request.param)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    return is_terminal


VERBS = ("groups", "groups describe", "groups describe --members --verbose", "groups describe --state", "history")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("verb", [*VERBS, "explain"])
def test_commands_about_groups_print_no_escape_sequences(
    verb: str, capture: Path, served: str, command: CommandLine
) -> None:
    """The tables and the JSON of a capture and of a running instance have no escape sequences.

    The JSON has the exact names. An unknown group has nothing on stdout and its own exit code.
    """
    sources = [(["--url", served], ExitCode.OK)]
    if verb != "explain":
        sources.append((["--capture", str(capture)], ExitCode.UNREADABLE))
    for source, code in sources:
        if verb == "groups":
            assert command.run(verb, *source, code=code)
            answer = command.json(verb, *source, code=code)
            assert {group["group"] for group in answer["groups"]} == set(HOSTILE)
            continue
        for name in HOSTILE:
            if "\0" not in name:
                assert command.run(*verb.split(), name, *source, code=code)
                assert command.json(*verb.split(), name, *source, code=code)["group"] == name
        for more in ([], ["--json"]):
            assert command.run(*verb.split(), STRANGER, *source, *more, code=ExitCode.NO_SUCH_GROUP) == []


def test_a_log_is_dumped_on_a_terminal_without_escape_sequences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe receives payloads unchanged, as from Kafka's own tool; on a terminal, payloads are escaped."""
    records = [write.Rec(at, 0, name.encode(), name.encode()) for at, name in enumerate(HOSTILE)]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(write.batch(0, records))
    command = CommandLine(capsys)
    command.run("dump-log", str(log), "--print-data-log")
    assert "\x1b[2J" in command.out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    command = PrintableCommandLine(capsys)
    command.run("dump-log", str(log), "--print-data-log")
    assert "\\x1b[2J" in command.out


def test_json_that_is_escaped_is_the_same_json() -> None:
    """All characters of Unicode keep their meaning, also beyond the basic plane."""
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x11000), range(0x1F400, 0x1F500), [0xE0001])))
    line = json.dumps({"name": text}, ensure_ascii=False)
    assert json.loads(printable_json(line)) == {"name": text}
    assert printable_json(line).isprintable()
    assert printable(text).isprintable()


@pytest.mark.usefixtures("terminal")
def test_decode_shows_names_and_no_escape_sequences(capture: Path, command: CommandLine) -> None:
    """A line of JSON keeps its meaning."""
    command.run("decode", "--input", str(capture), code=ExitCode.UNREADABLE)
    lines = map(json.loads, command.out.splitlines())
    assert {next(iter(line["key"]["data"].values())) for line in lines} == set(HOSTILE)
