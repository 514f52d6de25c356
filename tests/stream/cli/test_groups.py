"""The commands `groups`, `groups describe` and `history`, for a running instance and for a capture."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
import typer

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.cli import groups as cli_groups
from stream.cli.api_client import InstanceClient
from stream.errors import ExitCode, Refusal
from tests.exporters.snapshots import (
    CATCHING_UP,
    COMMON_CAUSE,
    HOSTILE_NAMES,
    NOON,
    detail,
    share_partition,
    small_snapshot,
    snapshot,
    status,
)
from tests.stream.offline.captures import RECORDED, capture_of, commit, generation, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporters.readmodel import GroupDetail, Snapshot

LIVES = RECORDED.with_name("lives.avro")
CAPTURE_HEAD = "GROUP KIND STATE MEMBERS PARTITIONS LAG LAG-UNKNOWN LAST-COMMIT EXPIRES DEATH-CAUSE".split()  # noqa: SIM905
LIST_HEAD = [*CAPTURE_HEAD[:1], "SEVERITY", "VERDICT", *CAPTURE_HEAD[1:6], "TIME-LAG", *CAPTURE_HEAD[6:]]
OFFSETS_HEAD = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID COMMIT-AGE EXPIRES"


@pytest.fixture(autouse=True)
def _own_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a command line of these commands, without the options of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)
    app = typer.Typer(name="lagwarden", add_completion=False)
    cli_groups.register(app)
    monkeypatch.setattr(cli, "app", app)


@contextlib.contextmanager
def serve(world: Snapshot | None, known: GroupDetail | None = None, **changes: Any) -> Iterator[str]:
    """Serve a snapshot on the loopback interface, with one known detail, by default of billing; yields the URL."""
    published = None if world is None else PublishedSnapshot.build(world)
    of_one = known or detail()

    def details(name: str) -> GroupDetail | None:
        return of_one if name == of_one.group else None

    server = HttpServer("127.0.0.1", 0, lambda: published, lambda: status(**changes), details)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


@contextlib.contextmanager
def serve_foreign(code: int, body: bytes) -> Iterator[str]:
    """Serve one fixed answer, as a server that is not lagwarden does; yields the URL."""

    class FixedAnswerHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), FixedAnswerHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small snapshot; returns the URL."""
    with serve(small_snapshot()) as address:
        yield address


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """Serve groups with hostile names; returns the URL."""
    names = [*HOSTILE_NAMES, ".", ".."]
    partitions = [{"group": name, "topic": name, "partition": 0} for name in names]
    with serve(snapshot(partitions, [{"group": name, "state": "Stable"} for name in names])) as address:
        yield address


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Return a capture with one group that rebalances, and one that dies."""
    rows = [
        generation(1, 1, ["m1", "m2"], group="a"),
        commit(2, 40, group="a"),
        commit(3, 41, group="a"),
        generation(4, 2, ["m2"], group="a"),
        commit(5, 7, group="b"),
        commit(6, None, group="b"),
        generation(7, 3, ["m2", "m3"], group="a"),
    ]
    return capture_of(tmp_path / "c.avro", rows)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandRunner:
    """Return a runner of command lines."""
    return CommandRunner(capsys)


class CommandRunner:
    """Runs command lines; `out` and `err` are the output of the last one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, *arguments: str, code: int = ExitCode.OK) -> list[list[str]]:
        """Run a command line, check its exit code, and return the words of each line on stdout."""
        assert cli.main(arguments) == code
        self.out, self.err = self._capsys.readouterr()
        return [line.split() for line in self.out.splitlines()]


class TestGroups:
    """`lagwarden groups`."""

    def test_lists_all_groups_of_an_instance(self, url: str, command: CommandRunner) -> None:
        """A line per group, the worst first, with columns that a script can split; line feeds in a name are escaped."""
        assert [" ".join(line) for line in command.run("groups", "--url", url)] == [
            " ".join(LIST_HEAD),
            f"billing critical stopped classic Stable 3 2 {2**62} \N{GREATER-THAN OR EQUAL TO}1m1s 1 0s - -",
            "plain unknown unknown simple - - 0 - - 0 - - -",
            'say "hi"\\\\nthere fine caught_up consumer Empty 0 1 0 0s 0 0s 1h0m -',
            "gone - - classic Dead - 0 - - 0 - - topic-deleted",
        ]

    @pytest.mark.parametrize(
        ("filters", "names"),
        [
            pytest.param(["--state", "stable"], ["billing"], id="state in lower case"),
            pytest.param(["--state", "Stable,Dead"], ["billing", "gone"], id="several separated by commas"),
            pytest.param(["--state", "Stable", "--state", "Empty"], ["billing", "say"], id="repeated option"),
            pytest.param(["--kind", "classic"], ["billing", "gone"], id="by kind"),
            pytest.param(["--kind", "classic", "--state", "Dead"], ["gone"], id="state and kind"),
            pytest.param(["--kind", "share"], [], id="no match"),
            pytest.param(["--topic", "orders"], ["billing"], id="topic"),
            pytest.param(["--severity", "fine,critical"], ["billing", "say"], id="severities"),
            pytest.param(["--verdict", "caught_up"], ["say"], id="verdict"),
            pytest.param(["--owner", "unknown", "--filter", "PLA"], ["plain"], id="owner and part of the name"),
            pytest.param(["--sort", "name", "--order", "desc"], ["say", "plain", "gone", "billing"], id="order"),
        ],
    )
    def test_filters_and_order(self, filters: list[str], names: list[str], url: str, command: CommandRunner) -> None:
        """Only groups that match every filter are printed, in the given order; no match gives a note and no error."""
        assert [line[0] for line in command.run("groups", "--url", url, *filters)[1:]] == names
        assert ("no group matches the filter" in command.err) == (not names)

    def test_limit(self, url: str, command: CommandRunner) -> None:
        """The worst groups are printed, and a note has the number of all."""
        assert [line[0] for line in command.run("groups", "--url", url, "--limit", "2")[1:]] == ["billing", "plain"]
        assert "2 of 4 groups; --limit" in command.err

    def test_hidden_members_cannot_be_filtered(self, url: str, command: CommandRunner) -> None:
        """The instance refuses the filter, and its reason is printed."""
        assert command.run("groups", "--url", url, "--client", "app", code=ExitCode.USAGE) == []
        assert "members are hidden" in command.err

    def test_client_and_host_of_a_capture(self, command: CommandRunner) -> None:
        """The filters of client and host apply to a capture as they do to an instance."""
        every = command.run("groups", "--capture", str(LIVES))
        command.run("groups", "describe", "consumer-regex", "--json", "--capture", str(LIVES))
        client = json.loads(command.out)["by_member"][0]["client_id"]
        filtered = command.run("groups", "--capture", str(LIVES), "--client", client)
        assert "consumer-regex" in {line[0] for line in filtered}
        assert len(filtered) < len(every)
        assert command.run("groups", "--capture", str(LIVES), "--host", "no-such-host") == []
        assert "no group matches the filter" in command.err

    def test_column_of_death_causes_needs_a_dead_group(self, url: str, command: CommandRunner) -> None:
        """The column is left out if no listed group is dead."""
        assert command.run("groups", "--url", url, "--state", "Stable")[0] == LIST_HEAD[:-1]

    def test_variable_names_the_instance(
        self, url: str, capture: Path, command: CommandRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """LAGWARDEN_URL applies where neither --url nor --capture is given."""
        monkeypatch.setenv("LAGWARDEN_URL", url)
        assert command.run("groups")[1][0] == "billing"
        assert command.run("groups", "--capture", str(capture))[1][0] == "a"
        with serve(snapshot()) as other:
            assert command.run("groups", "--url", other) == []

    def test_json_is_the_answer_of_the_api(self, url: str, command: CommandRunner) -> None:
        """The JSON is the whole answer, with the time of the snapshot; an unknown lag is null."""
        command.run("groups", "--url", url, "--kind", "simple", "--json")
        answer = json.loads(command.out)
        with urllib.request.urlopen(f"{url}/api/v1/groups?kind=simple") as response:  # noqa: S310 -- the server of the test
            assert answer == json.load(response)
        assert answer["snapshot_time"] == "2023-11-14T22:13:20.000Z"
        assert [(group["group"], group["lag_sum"]) for group in answer["groups"]] == [("plain", None)]

    def test_common_causes_are_printed_first(self, command: CommandRunner) -> None:
        """The causes are on stderr, so that a script can read the table. The JSON has the causes, too."""
        world = snapshot(groups=[{"group": "billing", "state": "Stable"}], common_causes=[COMMON_CAUSE])
        with serve(world) as address:
            assert len(command.run("groups", "--url", address)) == 2
            assert command.err.startswith("common cause: 17 of 18 groups coordinated by broker 3 stopped within 20 s;")
            command.run("groups", "--url", address, "--json")
        assert json.loads(command.out)["common_causes"][0]["groups"] == ["a/b", "billing"]

    def test_cluster_without_groups(self, command: CommandRunner) -> None:
        """Nothing is printed on stdout, and a note is printed on stderr."""
        with serve(snapshot()) as address:
            assert command.run("groups", "--url", address) == []
        assert "there are no groups" in command.err

    def test_of_a_capture(self, capture: Path, command: CommandRunner) -> None:
        """The table has no columns of verdicts. Lag is unknown, with a note; dead groups have their cause."""
        assert command.run("groups", "--capture", str(capture)) == [
            CAPTURE_HEAD,
            ["a", "classic", "Stable", "2", "1", "-", "1", "4s", "-", "-"],
            ["b", "simple", "Dead", "0", "0", "-", "0", "-", "-", "unknown"],
        ]
        assert "no end offsets" in command.err

    def test_configured_retention_applies_to_a_capture(
        self, tmp_path: Path, command: CommandRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The expiration of offsets is printed if the configuration has the retention of the cluster."""
        file = capture_of(tmp_path / "c.avro", [commit(1, 5, group="simple"), commit(61, 5, group="other")])
        monkeypatch.setenv("LAGWARDEN_GROUPS_OFFSETS_RETENTION", "5m")
        lines = command.run("groups", "--capture", str(file))
        assert [line[-1] for line in lines[1:]] == ["5m0s", "4m0s"]
        assert "OFFSETS_RETENTION" not in command.err

    def test_damaged_capture_has_its_own_exit_code(self, tmp_path: Path, command: CommandRunner) -> None:
        """Readable records are printed, and an error for those that cannot be decoded."""
        file = capture_of(tmp_path / "c.avro", [commit(1, 5), row(2, b"\x00\x01\x00", b"")])
        lines = command.run("groups", "--capture", str(file), code=ExitCode.UNREADABLE)
        assert [line[0] for line in lines] == ["GROUP", "g"]
        assert "cannot be decoded" in command.err


class TestDescribe:
    """`lagwarden groups describe`."""

    def test_prints_offsets_and_transitions(self, url: str, command: CommandRunner) -> None:
        """The columns are those of Kafka's tool, also for owned partitions without a commit; transitions follow."""
        lines = command.run("groups", "describe", "billing", "--url", url)
        app = ["app-1", "/10.0.0.1", "app"]
        assert lines[:6] == [
            OFFSETS_HEAD.split(),
            ["billing", "orders", "0", "41", str(2**62 + 41), str(2**62), *app, "1s", "7d0h"],
            ["billing", "orders", "1", "7", "-", "-", *app, "0s", "-"],
            ["billing", "orders", "2", "-", "-", "-", *app, "-", "-"],
            ["billing", "orders", "7", "-", "-", "-", *app, "-", "-"],
            ["billing", "orders", "3", "-", "-", "-", "app-2", "/10.0.0.1", "app", "-", "-"],
        ]
        assert lines[6] == []
        assert lines[8:] == [
            ["2023-11-13", "22:13:20.000", "created", "-", "replayed", "first", "seen"],
            ["2023-11-14", "22:11:50.000", "rebalanced", "-", "live", "3", "members", "came"],
            ["2023-11-14", "22:12:49.500", "forgotten", "topic-deleted", "live", "1", "offset"],
        ]
        assert "lag unknown for 1 partitions: no leader" in command.err
        assert "topics without a subscription: old" in command.err

    def test_members(self, url: str, command: CommandRunner) -> None:
        """The table has members with static ids. `--verbose` adds assignment, subscription and state."""
        lines = command.run("groups", "describe", "billing", "--members", "--url", url)
        assert lines == [
            ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"],
            ["billing", "app-1", "-", "/10.0.0.1", "app", "4"],
            ["billing", "app-2", "pod-2", "/10.0.0.1", "app", "1"],
            ["billing", "app-3", "-", "/10.0.0.1", "app", "0"],
        ]
        lines = command.run("groups", "describe", "billing", "--members", "--verbose", "--url", url)
        assert [line[6:] for line in lines] == [
            ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "MEMBER-STATE", "SUBSCRIPTION", "ASSIGNOR"],
            ["9", "orders:0,1,2,7", "Stable", "orders", "-"],
            ["-", "orders:3", "away", "orders", "uniform"],
            ["-", "-", "-", "/order.*/", "-"],
        ]

    def test_state(self, url: str, command: CommandRunner) -> None:
        """The table has the state with its source and age, and the epochs of the group's kind."""
        head, line = command.run("groups", "describe", "billing", "--state", "--url", url)
        shown = dict(zip(head, line, strict=True))
        assert shown.items() >= {"STATE": "Stable", "SOURCE": "asked", "FOR": "1m30s", "GENERATION": "12"}.items()
        head, line = command.run("groups", "describe", 'say "hi"\\\nthere', "--state", "--url", url)
        shown = dict(zip(head, line[1:], strict=True))
        assert shown.items() >= {"GROUP-EPOCH": "9", "TARGET-ASSIGNMENT-EPOCH": "8", "SOURCE": "log"}.items()
        assert "has no active members" in command.err

    def test_several_views_in_one_command(self, url: str, command: CommandRunner) -> None:
        """State, members and offsets are printed in that order, separated by empty lines."""
        command.run("groups", "describe", "billing", "--offsets", "--state", "--members", "--url", url)
        heads = [part.split()[1] for part in command.out.split("\n\n")]
        assert heads == ["KIND", "CONSUMER-ID", "TOPIC"]

    def test_dead_group_has_a_cause(self, url: str, command: CommandRunner) -> None:
        """A dead group has no offsets. A note has the time and the cause of its death."""
        assert command.run("groups", "describe", "gone", "--url", url) == []
        assert "'gone' died at 2023-11-14T22:12:50.000Z: topic deleted." in command.err

    def test_options_may_stand_before_describe(self, url: str, command: CommandRunner, capture: Path) -> None:
        """The source is an option of `groups` or of `describe`; an option of `describe` has precedence."""
        assert command.run("groups", "--url", url, "describe", "plain", "--state")[1][0] == "plain"
        assert command.run("groups", "--url", url, "describe", "a", "--capture", str(capture))[1][0] == "a"

    def test_a_share_group_has_the_columns_of_its_tool(self, command: CommandRunner) -> None:
        """The columns of `kafka-share-groups --describe --offsets` come first."""
        found = detail("jobs", share_partitions=(share_partition(0),), share_progress_time=NOON / 1000)
        world = snapshot(groups=[{"group": "jobs", "kind": "share", "state": "Empty"}])
        with serve(world, found) as url:
            heads, row = command.run("groups", "describe", "--url", url, "--offsets", "jobs")
        assert heads[:5] == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
        assert heads[5:] == ["LOG-END-OFFSET", "FINISHED", "RETURNED", "MOST-DELIVERIES", "VERDICT"]
        assert "Share group 'jobs' has no active members." in command.err
        assert row == ["jobs", "orders", "0", "1600", "390", "2000", "10", "2", "3", "ok"]

    @pytest.mark.parametrize("name", [*HOSTILE_NAMES, ".", ".."], ids=ascii)
    def test_any_name_can_be_given(self, name: str, hostile: str, command: CommandRunner) -> None:
        """A group is found by any name, and its table has one line."""
        command.run("groups", "describe", "--url", hostile, "--json", "--", name)
        assert json.loads(command.out)["group"] == name
        assert len(command.run("groups", "describe", "--url", hostile, "--", name)) == 2

    def test_of_a_capture(self, capture: Path, command: CommandRunner) -> None:
        """Owners and offsets are those of the log; end offsets and lag are unknown."""
        assert command.run("groups", "describe", "a", "--offsets", "--capture", str(capture))[1] == [
            *("a", "t", "0", "41", "-", "-", "-", "-", "-", "4s", "-"),
        ]
        members = command.run("groups", "describe", "a", "--members", "--capture", str(capture))
        assert [line[1] for line in members[1:]] == ["m2", "m3"]

    def test_topics_of_a_capture_have_their_names(self, command: CommandRunner) -> None:
        """Assignments of the newer kinds have only topic ids. A commit with id and name resolves them."""
        lines = command.run("groups", "describe", "consumer-regex", "--offsets", "--capture", str(LIVES))
        assert {line[1] for line in lines[1:]} == {"consumer-regex-in", "consumer-regex-also-in"}
        assert all(line[3] != "-" and line[8].startswith("consumer-regex-") for line in lines[1:])

    def test_both_sources_have_the_same_json_shape(self, url: str, capture: Path, command: CommandRunner) -> None:
        """The JSON of an instance and the JSON of a capture have the same fields."""

        def shape(value: Any) -> Any:
            return sorted((key, shape(inner)) for key, inner in value.items()) if isinstance(value, dict) else None

        shapes = []
        for group, where in (("billing", ["--url", url]), ("a", ["--capture", str(capture)])):
            command.run("groups", "describe", group, "--json", *where)
            answer = json.loads(command.out)
            lists = ("by_partition", "by_topic", "by_member", "transitions")
            one = {name: answer[name][0] for name in lists}
            evaluated = dict.fromkeys(("finding", "findings", "verdicts"))  # needs end offsets
            assert evaluated.keys() <= answer.keys()
            flat = {**answer, "unknown_lags": None, "unowned": None, **evaluated, **one}
            flat["by_member"]["assignment"] = None
            shapes.append(shape(flat))
        assert shapes[0] == shapes[1]


class TestHistory:
    """`lagwarden history`."""

    def test_of_a_running_instance(self, url: str, command: CommandRunner) -> None:
        """All stored transitions are printed, the oldest first."""
        lines = command.run("history", "billing", "--url", url)
        assert lines[0] == ["TIME", "(UTC)", "WHAT", "CAUSE", "SEEN", "STORY"]
        assert [line[2] for line in lines[1:]] == ["created", "rebalanced", "forgotten"]

    def test_of_a_capture(self, capture: Path, command: CommandRunner) -> None:
        """The columns are the same; every transition is replayed."""
        lines = command.run("history", "a", "--capture", str(capture))
        assert lines[0] == ["TIME", "(UTC)", "WHAT", "CAUSE", "SEEN", "STORY"]
        assert [line[2:5] for line in lines[1:]] == [
            ["created", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
        ]
        command.run("history", "b", "--capture", str(capture), "--json")
        answer = json.loads(command.out)
        assert answer["group"] == "b"
        assert [(each["transition"], each["time"]) for each in answer["transitions"]] == [
            ("created", "1970-01-01T00:00:05.000Z"),
            ("dead", "1970-01-01T00:00:06.000Z"),
        ]

    def test_group_without_history(self, url: str, command: CommandRunner) -> None:
        """A group without details has no history. This is not an error."""
        assert command.run("history", "plain", "--url", url) == []
        assert "no events recorded" in command.err

    def test_every_recorded_group_has_a_history(self, command: CommandRunner) -> None:
        """Each group of the capture of a real broker begins with `created`."""
        groups = [line[0] for line in command.run("groups", "--capture", str(RECORDED))[1:]]
        assert len(groups) > 5
        for group in groups:
            assert command.run("history", group, "--capture", str(RECORDED))[1][2] == "created"


class TestRefusals:
    """An error is one line on stderr with advice, nothing on stdout, and an exit code."""

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            pytest.param(["groups", "--state", "stabel"], "--state stabel: did you mean Stable?", id="misspelt state"),
            pytest.param(["groups", "--kind", "x"], "must be one of simple, classic", id="unknown kind"),
            pytest.param(["groups", "--url", "localhost:1"], "is not an http or https URL", id="no scheme"),
            pytest.param(["groups", "--url", "file:///etc/passwd"], "is not an http or https URL", id="other scheme"),
            pytest.param(["groups", "--capture", "/no/file"], "/no/file", id="missing capture"),
            pytest.param(
                ["history", "a", "--url", "http://x", "--capture", "y"], "exclude each other", id="two sources"
            ),
            pytest.param(["groups", "describe"], "see `lagwarden groups describe --help`", id="missing name"),
        ],
    )
    def test_wrong_usage(self, arguments: list[str], error: str, command: CommandRunner) -> None:
        """The error names the wrong argument."""
        code = ExitCode.UNREADABLE if "/no/file" in arguments else ExitCode.USAGE
        assert command.run(*arguments, code=code) == []
        assert error in command.err
        assert "Traceback" not in command.err

    @pytest.mark.parametrize("verb", [["groups", "describe"], ["history"]], ids=["describe", "history"])
    def test_no_such_group(self, verb: Sequence[str], url: str, capture: Path, command: CommandRunner) -> None:
        """The error has the nearest names for any source."""
        assert command.run(*verb, "biling", "--url", url, code=ExitCode.NO_SUCH_GROUP) == []
        assert command.err == "error: there is no group named biling; did you mean billing?\n"
        command.run(*verb, "zzz", "--capture", str(capture), code=ExitCode.NO_SUCH_GROUP)
        assert "`lagwarden groups` lists" in command.err

    def test_no_instance_answers(self, command: CommandRunner, monkeypatch: pytest.MonkeyPatch) -> None:
        """The default URL is that of the configuration; the error names the options for other sources."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        monkeypatch.setenv("LAGWARDEN_HTTP_PORT", str(port))
        command.run("groups", code=ExitCode.NO_INSTANCE)
        assert f"no lagwarden answers at http://127.0.0.1:{port} (Connection refused)" in command.err
        assert "--url" in command.err
        assert "--capture" in command.err

    def test_proxy_is_not_used_for_the_loopback_interface(
        self, url: str, command: CommandRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An instance on this machine is requested directly."""
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert command.run("groups", "--url", url)

    def test_not_ready_yet(self, command: CommandRunner) -> None:
        """An instance that is catching up has no groups yet; the error has its phase."""
        with serve(None, **CATCHING_UP) as address:
            command.run("groups", "--url", address, code=ExitCode.NOT_READY)
        assert "is not ready yet: catching up. Reading what groups have committed so far;" in command.err

    @pytest.mark.parametrize(
        ("code", "body"),
        [
            pytest.param(200, b"<html>hello</html>", id="HTML page"),
            pytest.param(200, b"[1]", id="other JSON"),
            pytest.param(404, b"not found", id="not found"),
            pytest.param(404, b'{"error": "no route"}', id="another API"),
            pytest.param(502, b"Bad gateway", id="error of a proxy"),
            pytest.param(500, b"{}", id="error of a server"),
        ],
    )
    def test_server_is_not_lagwarden(self, code: int, body: bytes, command: CommandRunner) -> None:
        """The error is one line, and is never that of an unknown group."""
        with serve_foreign(code, body) as address:
            command.run("history", "a", "--url", address, code=ExitCode.NO_INSTANCE)
            with pytest.raises(Refusal):
                InstanceClient(address).group("a")
        assert len(command.err.splitlines()) == 1
        assert address in command.err
        assert "there is no group" not in command.err


def test_note_about_an_old_snapshot(command: CommandRunner) -> None:
    """The age of an old snapshot is printed; a fresh one has no note."""
    for age, is_old in ((3600.0, True), (1.0, False)):
        with serve(dataclasses.replace(small_snapshot(), taken_at=time.time() - age)) as address:
            command.run("groups", "--url", address)
        assert ("note: these numbers are 1h0m old" in command.err) == is_old


def test_note_about_the_cluster(command: CommandRunner) -> None:
    """The configured name of the cluster is printed once; without one there is no note."""
    fresh = dataclasses.replace(small_snapshot(), taken_at=time.time())
    for name, notes in (("orders-eu", ["note: cluster: orders-eu"]), (None, [])):
        with serve(fresh, cluster_name=name) as address:
            command.run("groups", "--url", address)
        assert [line for line in command.err.splitlines() if "cluster" in line] == notes


def test_url_with_the_prefix_of_a_proxy() -> None:
    """The prefix is kept, and the name of the group is a query parameter."""
    paths = []

    class RecordingHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"snapshot_time":"2023-11-14T22:13:20.000Z"}')

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), RecordingHandler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        InstanceClient(f"http://127.0.0.1:{server.server_port}/kafka/", clock=lambda: NOON / 1000).group("a/../b c&d")
        thread.join()
    (path,) = paths
    assert path.startswith("/kafka/api/v1/group?")
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(path).query) == {"name": ["a/../b c&d"]}


def test_terminal_gets_a_drawn_table(url: str, command: CommandRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heads are bold, and a narrow terminal has fewer columns. Markup in a name is unchanged. JSON is indented."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for columns, heads in ((200, LIST_HEAD), (40, ["GROUP", "VERDICT", "LAG"])):
        monkeypatch.setenv("COLUMNS", str(columns))
        command.run("groups", "--url", url)
        head, *rows = command.out.splitlines()
        assert head.startswith("\x1b[1mGROUP")
        assert re.sub(r"\x1b\[\d+m", "", head).split() == heads
        assert max(map(len, rows)) <= columns
        assert rows[0].startswith("billing ")
    with serve(snapshot(groups=[{"group": "[red]x[/red]"}])) as address:
        command.run("groups", "--url", address)
    assert "[red]x[/red]" in command.out
    command.run("groups", "describe", "billing", "--url", url, "--json")
    assert command.out.startswith('{\n  "snapshot_time"')


def test_listing_groups_loads_nothing_heavy(url: str) -> None:
    """The groups of an instance need neither Spark nor Arrow nor a Kafka client."""
    heavy = ("pyspark", "kafka", "pandas", "pyarrow", "numpy", "starlette", "textual")
    script = (
        "import sys; from stream.cli import app as cli, groups as cli_groups;"
        "import typer; cli.app = typer.Typer(name='lagwarden');"
        "cli_groups.register(cli.app); code = cli.main(sys.argv[1:]);"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "groups", "--url", url], capture_output=True, text=True, check=True
    )
    assert ran.stderr.splitlines()[-1] == "[]"
    assert "billing" in ran.stdout
