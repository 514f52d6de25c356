"""The commands `groups`, `groups describe` and `history`, for a running instance and for a capture."""

import dataclasses
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from exporters.http.openapi.small_world import NOON
from stream.cli.api_client import InstanceClient
from stream.errors import ExitCode, Refusal
from tests.exporters.serving import serving_url
from tests.exporters.snapshots import CATCHING_UP, COMMON_CAUSE, detail, share_partition, small_snapshot, snapshot
from tests.stream.cli.command_line import HEAVY, CommandLine
from tests.stream.offline.captures import RECORDED, capture_of, commit, generation
from tests.stream.webhook.receiver import Receiver

LIVES = str(RECORDED.with_name("lives.avro"))
CAPTURE_HEAD = "GROUP KIND STATE MEMBERS PARTITIONS LAG LAG-UNKNOWN LAST-COMMIT EXPIRES DEATH-CAUSE".split()  # noqa: SIM905
LIST_HEAD = [*CAPTURE_HEAD[:1], "SEVERITY", "VERDICT", *CAPTURE_HEAD[1:6], "TIME-LAG", *CAPTURE_HEAD[6:]]
OFFSETS_HEAD = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID COMMIT-AGE EXPIRES"
HISTORY_HEAD = ["TIME (UTC)", "WHAT", "CAUSE", "SEEN", "STORY"]


@pytest.fixture
def capture(tmp_path: Path) -> str:
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
    return str(capture_of(tmp_path / "c.avro", rows))


def test_a_list_has_all_groups_of_an_instance(url: str, command: CommandLine) -> None:
    """A line per group, the worst first, with columns that a script can split; line feeds in a name are escaped."""
    assert [" ".join(line) for line in command.run("groups", "--url", url)] == [
        " ".join(LIST_HEAD),
        f"billing critical stopped classic Stable 3 2 {2**62} \N{GREATER-THAN OR EQUAL TO} 1 min 1 s 1 0 s - -",
        "plain unknown unknown simple - - 0 - - 0 - - -",
        'say "hi"\\\\nthere fine caught up consumer Empty 0 1 0 0 0 0 s 1 h -',
        "gone - - classic Dead - 0 - - 0 - - topic-deleted",
    ]
    assert command.run("groups", "--url", url, "--state", "Stable")[0] == LIST_HEAD[:-1], "no dead group, no causes"


FILTERS = {
    "--state stable": "billing",
    "--state Stable,Dead": "billing gone",
    "--state Stable --state Empty": "billing say",
    "--kind classic": "billing gone",
    "--kind classic --state Dead": "gone",
    "--kind share": "",
    "--topic orders": "billing",
    "--severity fine,critical": "billing say",
    "--verdict caught_up": "say",
    "--owner unknown --filter PLA": "plain",
    "--sort name --order desc": "say plain gone billing",
    "--limit 2": "billing plain",
}


@pytest.mark.parametrize("filters", FILTERS)
def test_filters_and_order(filters: str, url: str, command: CommandLine) -> None:
    """Only groups that match every filter are printed, in the given order; no match and a limit have a note."""
    names = FILTERS[filters].split()
    assert [line[0].split()[0] for line in command.run("groups", "--url", url, *filters.split())[1:]] == names
    assert ("no group matches the filter" in command.err) == (not names)
    assert ("2 of 4 groups; --limit" in command.err) == ("--limit" in filters)


def test_client_and_host_of_a_capture(url: str, command: CommandLine) -> None:
    """The filters of client and host apply to a capture; an instance that hides members refuses them with a reason."""
    assert "members are hidden" in command.fails("groups", "--url", url, "--client", "app")
    every = command.run("groups", "--capture", LIVES)
    answer = command.json("groups", "describe", "consumer-regex", "--capture", LIVES)
    filtered = command.run("groups", "--capture", LIVES, "--client", answer["by_member"][0]["client_id"])
    assert "consumer-regex" in {line[0] for line in filtered}
    assert len(filtered) < len(every)
    assert command.run("groups", "--capture", LIVES, "--host", "no-such-host") == []
    assert "no group matches the filter" in command.err


def test_common_causes_are_printed_first(command: CommandLine) -> None:
    """The causes are on stderr, so that a script can read the table. The JSON has the causes, too."""
    with serving_url(
        snapshot(groups=[{"group": "billing", "state": "Stable"}], common_causes=[COMMON_CAUSE])
    ) as address:
        assert len(command.run("groups", "--url", address)) == 2
        assert command.err.startswith("common cause: 17 of 18 groups coordinated by broker 3 stopped within 20 s;")
        assert command.json("groups", "--url", address)["common_causes"][0]["groups"] == ["a/b", "billing"]


def test_groups_of_a_capture(capture: str, command: CommandLine) -> None:
    """The table has no columns of verdicts. Lag is unknown, with a note; dead groups have their cause."""
    assert command.run("groups", "--capture", capture) == [
        CAPTURE_HEAD,
        ["a", "classic", "Stable", "2", "1", "-", "1", "4 s", "-", "-"],
        ["b", "simple", "Dead", "0", "0", "-", "0", "-", "-", "unknown"],
    ]
    assert "no end offsets" in command.err


def test_describe_prints_offsets_and_transitions(url: str, command: CommandLine) -> None:
    """The columns are those of Kafka's tool, also for owned partitions without a commit; transitions follow."""
    lines = command.run("groups", "describe", "billing", "--url", url)
    app = ["app-1", "/10.0.0.1", "app"]
    assert lines[:7] == [
        OFFSETS_HEAD.split(),
        ["billing", "orders", "0", "41", str(2**62 + 41), str(2**62), *app, "1 s", "7 d"],
        ["billing", "orders", "1", "7", "-", "-", *app, "0 s", "-"],
        ["billing", "orders", "2", "-", "-", "-", *app, "-", "-"],
        ["billing", "orders", "7", "-", "-", "-", *app, "-", "-"],
        ["billing", "orders", "3", "-", "-", "-", "app-2", "/10.0.0.1", "app", "-", "-"],
        [],
    ]
    assert lines[8:] == [
        ["2023-11-13 22:13:20.000", "created", "-", "replayed", "first seen"],
        ["2023-11-14 22:11:50.000", "rebalanced", "-", "live", "3 members came"],
        ["2023-11-14 22:12:49.500", "forgotten", "topic-deleted", "live", "1 offset"],
    ]
    assert "lag unknown for 1 partitions: no leader" in command.err
    assert "topics without a subscription: old" in command.err


def test_state(url: str, command: CommandLine) -> None:
    """The table has the state with its source and age, and the epochs of the group's kind.

    A dead group has no offsets. A note has the time and the cause of its death.
    """
    head, line = command.run("groups", "describe", "billing", "--state", "--url", url)
    shown = dict(zip(head, line, strict=True))
    assert shown.items() >= {"STATE": "Stable", "SOURCE": "described", "FOR": "1 min 30 s", "GENERATION": "12"}.items()
    head, line = command.run("groups", "describe", 'say "hi"\\\nthere', "--state", "--url", url)
    shown = dict(zip(head, line, strict=True))
    assert shown.items() >= {"GROUP-EPOCH": "9", "TARGET-ASSIGNMENT-EPOCH": "8", "SOURCE": "log"}.items()
    assert "has no active members" in command.err
    assert command.run("groups", "describe", "gone", "--url", url) == []
    assert "'gone' died at 2023-11-14T22:12:50.000Z: topic deleted." in command.err


def test_views_and_sources_in_one_command(url: str, command: CommandLine, capture: str) -> None:
    """State, members and offsets are printed in that order, separated by empty lines.

    The source is an option of `groups` or of `describe`; an option of `describe` has precedence.
    """
    command.run("groups", "describe", "billing", "--offsets", "--state", "--members", "--url", url)
    assert [part.split()[1] for part in command.out.split("\n\n")] == ["KIND", "CONSUMER-ID", "TOPIC"]
    assert command.run("groups", "--url", url, "describe", "plain", "--state")[1][0] == "plain"
    assert command.run("groups", "--url", url, "describe", "a", "--capture", capture)[1][0] == "a"


def test_a_share_group_has_the_columns_of_its_tool(command: CommandLine) -> None:
    """The columns of `kafka-share-groups --describe --offsets` come first."""
    found = detail("jobs", share_partitions=(share_partition(0),), share_progress_time=NOON / 1000)
    with serving_url(snapshot(groups=[{"group": "jobs", "kind": "share", "state": "Empty"}]), found) as url:
        heads, cells = command.run("groups", "describe", "--url", url, "--offsets", "jobs")
    assert heads[:5] == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
    assert heads[5:] == ["LOG-END-OFFSET", "FINISHED", "RETURNED", "MOST-DELIVERIES", "VERDICT"]
    assert "Share group 'jobs' has no active members." in command.err
    assert cells == ["jobs", "orders", "0", "1600", "390", "2000", "10", "2", "3", "ok"]


def test_a_group_of_a_capture(capture: str, command: CommandLine) -> None:
    """Owners and offsets are those of the log; end offsets and lag are unknown.

    Assignments of the newer kinds have only topic ids. A commit with id and name resolves them.
    """
    offsets = command.run("groups", "describe", "a", "--offsets", "--capture", capture)
    assert offsets[1] == ["a", "t", "0", "41", "-", "-", "-", "-", "-", "4 s", "-"]
    members = command.run("groups", "describe", "a", "--members", "--capture", capture)
    assert [line[1] for line in members[1:]] == ["m2", "m3"]
    lines = command.run("groups", "describe", "consumer-regex", "--offsets", "--capture", LIVES)
    assert {line[1] for line in lines[1:]} == {"consumer-regex-in", "consumer-regex-also-in"}
    assert all(line[3] != "-" and line[8].startswith("consumer-regex-") for line in lines[1:])


def test_both_sources_have_the_same_json_shape(url: str, capture: str, command: CommandLine) -> None:
    """The JSON of an instance and the JSON of a capture have the same fields."""

    def shape(value: Any) -> Any:
        return sorted((key, shape(inner)) for key, inner in value.items()) if isinstance(value, dict) else None

    shapes = []
    for group, where in (("billing", ["--url", url]), ("a", ["--capture", capture])):
        answer = command.json("groups", "describe", group, *where)
        one = {name: answer[name][0] for name in ("by_partition", "by_topic", "by_member", "transitions")}
        evaluated = dict.fromkeys(("finding", "findings", "verdicts"))  # needs end offsets
        assert evaluated.keys() <= answer.keys()
        flat = {**answer, "unknown_lags": None, "unowned": None, **evaluated, **one}
        flat["by_member"]["assignment"] = None
        shapes.append(shape(flat))
    assert shapes[0] == shapes[1]


def test_history(url: str, capture: str, command: CommandLine) -> None:
    """All stored transitions and verdict changes are printed, the oldest first; those of a capture are replayed.

    A group without details has none, which is no error.
    """
    lines = command.run("history", "billing", "--url", url)
    assert lines[0] == HISTORY_HEAD
    changes = ["verdict ok", "rebalanced", "forgotten", "verdict stopped"]
    assert [line[1] for line in lines[1:]] == ["created", *changes]
    assert lines[-1][4].startswith("orders-0 has had no commit")
    assert [each["verdict"] for each in command.json("history", "billing", "--url", url)["verdicts"]] == [
        "ok",
        "stopped",
    ]
    assert command.run("history", "plain", "--url", url) == []
    assert "no events recorded" in command.err
    lines = command.run("history", "a", "--capture", capture)
    assert lines[0] == HISTORY_HEAD
    assert [line[1:4] for line in lines[1:]] == [[what, "-", "replayed"] for what in ["created", *["rebalanced"] * 3]]
    answer = command.json("history", "b", "--capture", capture)
    assert answer["group"] == "b"
    times = [(each["transition"], each["time"]) for each in answer["transitions"]]
    assert times == [("created", "1970-01-01T00:00:05.000Z"), ("dead", "1970-01-01T00:00:06.000Z")]


@pytest.mark.parametrize("verb", ["groups describe", "history", "explain"])
def test_no_such_group(verb: str, url: str, capture: str, command: CommandLine) -> None:
    """The error has the nearest names for any source."""
    error = command.fails(*verb.split(), "biling", "--url", url, code=ExitCode.NO_SUCH_GROUP)
    assert error == "error: there is no group named biling; did you mean billing?\n"
    if verb != "explain":
        error = command.fails(*verb.split(), "zzz", "--capture", capture, code=ExitCode.NO_SUCH_GROUP)
        assert "`lagwarden groups` lists" in error


def test_no_instance_answers(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default URL is that of the configuration; the error names the options for other sources."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("LAGWARDEN_HTTP_PORT", str(port))
    error = command.fails("groups", code=ExitCode.NO_INSTANCE)
    assert f"no lagwarden answers at http://127.0.0.1:{port} (Connection refused)" in error
    assert all(option in error for option in ("--url", "--capture"))


def test_not_ready_yet(command: CommandLine) -> None:
    """An instance that is catching up has no groups yet; the error has its phase."""
    with serving_url(None, **CATCHING_UP) as address:
        for verb in (["groups"], ["explain", "a"]):
            error = command.fails(*verb, "--url", address, code=ExitCode.NOT_READY)
            assert "is not ready yet: catching up. Reading what groups have committed so far;" in error


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
def test_server_is_not_lagwarden(code: int, body: bytes, command: CommandLine) -> None:
    """The error is one line, and is never that of an unknown group."""
    with Receiver(lambda _: (code, {}, body)) as server:
        address = server.address
        error = command.fails("history", "a", "--url", address, code=ExitCode.NO_INSTANCE)
        with pytest.raises(Refusal):
            InstanceClient(address).group("a")
    assert len(error.splitlines()) == 1
    assert address in error
    assert "there is no group" not in error


def test_notes(command: CommandLine) -> None:
    """The age of an old snapshot, the configured name of the cluster, and the URLs of other instances are notes.

    A fresh snapshot of a single instance without a name has none. The notes are also printed with --json.
    """
    instances = {"part": "1/3", "instances": 3, "siblings": ("http://a:1", "http://b:1", "http://c:1")}
    for age, changes, notes in (
        (3600.0, {}, ["note: these numbers are 1 h old"]),
        (1.0, {}, []),
        (1.0, {"cluster_name": "orders-eu"}, ["note: cluster: orders-eu"]),
        (1.0, instances, ["note: these are the groups of instance 1/3; the others: http://a:1, http://c:1"]),
    ):
        with serving_url(dataclasses.replace(small_snapshot(), taken_at=time.time() - age), **changes) as address:
            for more in ([], ["--json"]):
                command.run("groups", "--url", address, *more)
                shown = command.err.splitlines()
                assert [line.startswith(note) for line, note in zip(shown, notes, strict=True)] == [True] * len(notes)


@pytest.mark.parametrize("verb", ["groups", "explain billing", "--help", "version", "acls", "check-config -b a:1"])
def test_a_command_loads_nothing_heavy(verb: str, url: str) -> None:
    """These commands need neither Spark nor Arrow nor a Kafka client."""
    script = (
        "import sys; from stream.cli.app import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    words = [*verb.split(), *(["--url", url] if verb in {"groups", "explain billing"} else [])]
    ran = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[-1] == "[]"
    assert ran.stdout
