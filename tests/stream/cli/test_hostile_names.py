"""Names, addresses and metadata that clients chose: no command prints a terminal sequence from them."""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING

import pytest

from exporters.http.server import HttpServer
from exporters.readmodel import FindingDetail, TransitionDetail, VerdictChange
from exporters.text.exposition import PublishedSnapshot
from sandbox.kafka import log_writer as write
from stream.cli import app as cli
from stream.cli.render.stdout import printable, printable_json
from stream.errors import ExitCode
from tests.exporters.snapshots import NOON, detail, member, snapshot, status
from tests.stream.groups import written
from tests.stream.offline.captures import capture_of, row
from tests.support.raw import commit_key, commit_value, group_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporters.readmodel import GroupDetail

HOSTILE = ("\x1b]0;owned\x07\x1b[2J", "a\x9b31mred", "\u202egnp.exe", "two\r\nlines", "\x7f\x08\x00", "\u2028")
"""A title and a cleared screen, a colour by one byte, turned text, lines, deletions, a separator of lines."""
STRANGER = "\x1b[2J stranger"
"""The name of no group."""
SHAPES = ("json", "json-3.9", "text-0.8", "text-0.9", "text-2.1")


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


def hostile_detail(name: str) -> GroupDetail | None:
    """Return the detail of a group whose every string is hostile; None for the stranger."""
    if name not in HOSTILE:
        return None
    finding = FindingDetail(name, name, NOON / 1000, name, {"member": name}, name)
    return detail(
        name,
        members=(member(name, instance_id=name, assignment=((name, (0,)),), state=name, regex=name),),
        transitions=(TransitionDetail(NOON / 1000, "dead", name, name, live=True, came=0, went=0),),
        unowned=((name, (4,)),),
        unsubscribed=(name,),
        finding=finding,
        partition_findings=((name, 0, finding),),
        verdicts=(VerdictChange(NOON / 1000, None, name, name),),
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve groups with these names."""
    rows = [
        {
            "group": name,
            "kind": name,
            "state": name,
            "protocol": name,
            "verdict": name,
            "severity": name,
            "sentence": name,
        }
        for name in HOSTILE
    ]
    world = snapshot(groups=rows, partitions=[{"group": name, "topic": name, "partition": 0} for name in HOSTILE])
    server = HttpServer("127.0.0.1", 0, lambda: PublishedSnapshot.build(world), status, hostile_detail)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def output_of(
    arguments: list[str], capsys: pytest.CaptureFixture[str], code: ExitCode = ExitCode.OK
) -> tuple[str, str]:
    """Run a command, check its exit code and that its output is printable, and return stdout and stderr."""
    assert cli.main(arguments) == code, arguments
    out, err = capsys.readouterr()
    for text in (out, err):
        bad = {sign for sign in text if not sign.isprintable() and sign != "\n"}
        assert not bad, (arguments, bad, text[:400])
    return out, err


@pytest.fixture(params=[False, True], ids=["pipe", "terminal"])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Print into a pipe, and on a simulated terminal without colours."""
    is_terminal = bool(request.param)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    return is_terminal


@pytest.mark.usefixtures("terminal")
def test_replay_shows_names_and_no_escape_sequences(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of groups and the history of each are printed without sequences, as text and as JSON."""
    out, _ = output_of(["replay", str(capture)], capsys, ExitCode.UNREADABLE)
    assert "\\x1b]0;owned\\x07" in out.replace("\n", "")
    output_of(["replay", str(capture), "--json"], capsys, ExitCode.UNREADABLE)
    for name in HOSTILE:
        if "\0" not in name:
            out, _ = output_of(["replay", str(capture), "--group", name], capsys, ExitCode.UNREADABLE)
            assert "committed at" in out
            out, _ = output_of(["replay", str(capture), "--group", name, "--json"], capsys, ExitCode.UNREADABLE)
            assert json.loads(out)["records"][0]["kind"]
    output_of(["replay", str(capture), "--group", STRANGER], capsys, ExitCode.NO_SUCH_GROUP)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("shape", SHAPES)
def test_decode_shows_names_and_no_escape_sequences(
    shape: str, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No format prints a sequence, and a line of JSON keeps its meaning."""
    out, _ = output_of(["decode", "--input", str(capture), "--format", shape], capsys, ExitCode.UNREADABLE)
    assert out
    if shape.startswith("json"):
        names = {next(iter(json.loads(line)["key"]["data"].values())) for line in out.splitlines()}
        assert names == set(HOSTILE)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "verb", [["groups"], ["groups", "describe"], ["groups", "describe", "--members", "--verbose"],
             ["groups", "describe", "--state"], ["history"], ["explain"]], ids=" ".join,
)  # fmt: skip
def test_commands_about_groups_print_no_escape_sequences(
    verb: list[str], capture: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables and the JSON of a capture and of a running instance have no escape sequences.

    The JSON has the exact names. An unknown group has nothing on stdout and its own exit code.
    """
    sources = [(["--url", url], ExitCode.OK)]
    if verb != ["explain"]:
        sources.append((["--capture", str(capture)], ExitCode.UNREADABLE))
    if verb == ["groups"]:
        for source, code in sources:
            assert output_of([*verb, *source], capsys, code)[0]
            out, _ = output_of([*verb, *source, "--json"], capsys, code)
            assert {group["group"] for group in json.loads(out)["groups"]} == set(HOSTILE)
        return
    for (source, code), name in itertools.product(sources, [name for name in HOSTILE if "\0" not in name]):
        assert output_of([*verb, name, *source], capsys, code)[0]
        out, _ = output_of([*verb, name, *source, "--json"], capsys, code)
        assert json.loads(out)["group"] == name
    for (source, _), more in itertools.product(sources, ([], ["--json"])):
        assert output_of([*verb, STRANGER, *source, *more], capsys, ExitCode.NO_SUCH_GROUP)[0] == ""


def test_a_log_is_dumped_on_a_terminal_without_escape_sequences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe receives payloads unchanged, as from Kafka's own tool; on a terminal, payloads are escaped."""
    records = [write.Rec(at, 0, name.encode(), name.encode()) for at, name in enumerate(HOSTILE)]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(write.batch(0, records))
    assert cli.main(["dump-log", str(log), "--print-data-log"]) == ExitCode.OK
    assert "\x1b[2J" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out, _ = output_of(["dump-log", str(log), "--print-data-log"], capsys)
    assert "\\x1b[2J" in out


def test_json_that_is_escaped_is_the_same_json() -> None:
    """All characters of Unicode keep their meaning, also beyond the basic plane."""
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x11000), range(0x1F400, 0x1F500), [0xE0001])))
    line = json.dumps({"name": text}, ensure_ascii=False)
    assert json.loads(printable_json(line)) == {"name": text}
    assert printable_json(line).isprintable()
    assert printable(text).isprintable()
