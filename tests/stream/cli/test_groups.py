"""The verbs about groups as a person types them, of a running instance and of a capture."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest
import typer

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.cli import groups as cli_groups
from stream.cli.api_client import InstanceClient
from stream.errors import ExitCode, Refusal
from tests.exporters.snapshots import CATCHING_UP, HOSTILE_NAMES, NOON, detail, small_world, snapshot, status
from tests.stream.offline.captures import RECORDED, capture_of, commit, generation, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporters.readmodel import GroupDetail, Snapshot

LIVES = RECORDED.with_name("lives.avro")
LIST_HEAD = "GROUP KIND STATE MEMBERS PARTITIONS LAG LAG-UNKNOWN LAST-COMMIT EXPIRES DEATH-CAUSE".split()  # noqa: SIM905
OFFSETS_HEAD = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID COMMIT-AGE EXPIRES"


@pytest.fixture(autouse=True)
def _own_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a command line with these verbs, and hide what the person running the tests has configured."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)
    app = typer.Typer(name="lagwarden", add_completion=False)
    cli_groups.register(app)
    monkeypatch.setattr(cli, "app", app)


@contextlib.contextmanager
def running(world: Snapshot | None, **changes: Any) -> Iterator[str]:
    """Serve a world on the loopback, billing with its detail; give the address."""
    published = None if world is None else PublishedSnapshot.build(world)

    def details(name: str) -> GroupDetail | None:
        return detail() if name == "billing" else None

    server = HttpServer("127.0.0.1", 0, lambda: published, lambda: status(**changes), details)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


@contextlib.contextmanager
def stranger(code: int, body: bytes) -> Iterator[str]:
    """Serve always the same answer, as something that is no lagwarden does; give the address."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small world."""
    with running(small_world()) as address:
        yield address


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """Serve groups with all the names that somebody could choose to annoy."""
    names = [*HOSTILE_NAMES, ".", ".."]
    partitions = [{"group": name, "topic": name, "partition": 0} for name in names]
    with running(snapshot(partitions, [{"group": name, "state": "Stable"} for name in names])) as address:
        yield address


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Give a capture with one group that rebalances and empties, and one that dies."""
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
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Give what runs a command line and tells what it said."""
    return Said(capsys)


class Said:
    """What a command line printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def by(self, *arguments: str, code: int = ExitCode.OK) -> list[list[str]]:
        """Run it, see that it ends with a code, and give the words of each line on stdout."""
        assert cli.main(arguments) == code
        self.out, self.err = self._capsys.readouterr()
        return [line.split() for line in self.out.splitlines()]


class TestGroups:
    """`lagwarden groups`."""

    def test_all_of_a_running_instance(self, url: str, said: Said) -> None:
        """A line per group with columns that a script can cut; a name that would break a line is written out."""
        assert said.by("groups", "--url", url) == [
            LIST_HEAD,
            ["billing", "classic", "Stable", "3", "2", str(2**62), "1", "0s", "-", "-"],
            ["gone", "classic", "Dead", "-", "0", "-", "0", "-", "-", "topic-deleted"],
            ["plain", "simple", "-", "-", "0", "-", "0", "-", "-", "-"],
            ["say", '"hi"\\\\nthere', "consumer", "Empty", "0", "1", "0", "0", "0s", "1h0m", "-"],
        ]

    @pytest.mark.parametrize(
        ("filters", "names"),
        [
            pytest.param(["--state", "stable"], ["billing"], id="in whatever case"),
            pytest.param(["--state", "Stable,Dead"], ["billing", "gone"], id="several with commas"),
            pytest.param(["--state", "Stable", "--state", "Empty"], ["billing", "say"], id="several times"),
            pytest.param(["--kind", "classic"], ["billing", "gone"], id="by kind"),
            pytest.param(["--kind", "classic", "--state", "Dead"], ["gone"], id="by both"),
            pytest.param(["--kind", "share"], [], id="none is so"),
        ],
    )
    def test_some(self, filters: list[str], names: list[str], url: str, said: Said) -> None:
        """State and kind choose; that none is so is said beside, and is no error."""
        assert [line[0] for line in said.by("groups", "--url", url, *filters)[1:]] == names
        assert ("no group matches the filter" in said.err) == (not names)

    def test_the_column_of_deaths_only_comes_with_a_death(self, url: str, said: Said) -> None:
        """As Kafka's tool leaves out the column of static ids."""
        assert said.by("groups", "--url", url, "--state", "Stable")[0] == LIST_HEAD[:-1]

    def test_json_is_that_of_the_api(self, url: str, said: Said) -> None:
        """Programs get the very rows of the API, chosen."""
        said.by("groups", "--url", url, "--kind", "simple", "--json")
        answer = json.loads(said.out)
        assert answer["snapshot_time"] == "2023-11-14T22:13:20.000Z"
        assert [(group["group"], group["lag_sum"]) for group in answer["groups"]] == [("plain", None)]

    def test_a_cluster_without_groups(self, said: Said) -> None:
        """Nothing on stdout, and a word beside."""
        with running(snapshot()) as address:
            assert said.by("groups", "--url", address) == []
        assert "there are no groups" in said.err

    def test_of_a_capture(self, capture: Path, said: Said) -> None:
        """The same columns; lag is not known, and it is said why. The dead are there with when they died."""
        assert said.by("groups", "--capture", str(capture)) == [
            LIST_HEAD,
            ["a", "classic", "Stable", "2", "1", "-", "1", "4s", "-", "-"],
            ["b", "simple", "Dead", "0", "0", "-", "0", "-", "-", "unknown"],
        ]
        assert "no end offsets" in said.err

    def test_a_capture_whose_retention_is_configured(
        self, tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the configuration says how long offsets were kept, their expiry is told."""
        file = capture_of(tmp_path / "c.avro", [commit(1, 5, group="simple"), commit(61, 5, group="other")])
        monkeypatch.setenv("LAGWARDEN_GROUPS_OFFSETS_RETENTION", "5m")
        lines = said.by("groups", "--capture", str(file))
        assert [line[-1] for line in lines[1:]] == ["5m0s", "4m0s"]
        assert "OFFSETS_RETENTION" not in said.err

    def test_a_capture_with_damage_ends_with_its_code(self, tmp_path: Path, said: Said) -> None:
        """What can be read is shown, what cannot is named, and the code tells."""
        file = capture_of(tmp_path / "c.avro", [commit(1, 5), row(2, b"\x00\x01\x00", b"")])
        lines = said.by("groups", "--capture", str(file), code=ExitCode.UNREADABLE)
        assert [line[0] for line in lines] == ["GROUP", "g"]
        assert "cannot be decoded" in said.err


class TestDescribe:
    """`lagwarden groups describe`."""

    def test_offsets_and_what_happened(self, url: str, said: Said) -> None:
        """The columns of Kafka's tool: each member's partitions, also without a commit; then the latest transitions."""
        lines = said.by("groups", "describe", "billing", "--url", url)
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
        assert "lag unknown for 1 partitions: no leader" in said.err
        assert "topics without a subscription: old" in said.err

    def test_members(self, url: str, said: Said) -> None:
        """Who is in it, with static ids as there are some; verbose tells what each has, wants and is."""
        lines = said.by("groups", "describe", "billing", "--members", "--url", url)
        assert lines == [
            ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"],
            ["billing", "app-1", "-", "/10.0.0.1", "app", "4"],
            ["billing", "app-2", "pod-2", "/10.0.0.1", "app", "1"],
            ["billing", "app-3", "-", "/10.0.0.1", "app", "0"],
        ]
        lines = said.by("groups", "describe", "billing", "--members", "--verbose", "--url", url)
        assert [line[6:] for line in lines] == [
            ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "MEMBER-STATE", "SUBSCRIPTION", "ASSIGNOR"],
            ["9", "orders:0,1,2,7", "Stable", "orders", "-"],
            ["-", "orders:3", "away", "orders", "uniform"],
            ["-", "-", "-", "/order.*/", "-"],
        ]

    def test_state(self, url: str, said: Said) -> None:
        """State with where it is known from and for how long, epochs as the kind has them."""
        head, line = said.by("groups", "describe", "billing", "--state", "--url", url)
        shown = dict(zip(head, line, strict=True))
        assert shown.items() >= {"STATE": "Stable", "SOURCE": "asked", "FOR": "1m30s", "GENERATION": "12"}.items()
        head, line = said.by("groups", "describe", 'say "hi"\\\nthere', "--state", "--url", url)
        shown = dict(zip(head, line[1:], strict=True))
        assert shown.items() >= {"GROUP-EPOCH": "9", "TARGET-ASSIGNMENT-EPOCH": "8", "SOURCE": "log"}.items()
        assert "has no active members" in said.err

    def test_several_views_at_once(self, url: str, said: Said) -> None:
        """State, members and offsets, in that order, an empty line between."""
        said.by("groups", "describe", "billing", "--offsets", "--state", "--members", "--url", url)
        heads = [part.split()[1] for part in said.out.split("\n\n")]
        assert heads == ["KIND", "CONSUMER-ID", "TOPIC"]

    def test_a_dead_group_says_why(self, url: str, said: Said) -> None:
        """It has nothing left to show but its end."""
        assert said.by("groups", "describe", "gone", "--url", url) == []
        assert "'gone' died at 2023-11-14T22:12:50.000Z: topic deleted." in said.err

    def test_options_may_stand_before_the_verb(self, url: str, said: Said, capture: Path) -> None:
        """Where to ask can be said of `groups` or of `describe`; what is nearer to the name wins."""
        assert said.by("groups", "--url", url, "describe", "plain", "--state")[1][0] == "plain"
        assert said.by("groups", "--url", url, "describe", "a", "--capture", str(capture))[1][0] == "a"

    @pytest.mark.parametrize("name", [*HOSTILE_NAMES, ".", ".."], ids=ascii)
    def test_any_name_can_be_given(self, name: str, hostile: str, said: Said) -> None:
        """Whatever a group is called, it is found by that name, and the table has one line for it."""
        said.by("groups", "describe", "--url", hostile, "--json", "--", name)
        assert json.loads(said.out)["group"] == name
        assert len(said.by("groups", "describe", "--url", hostile, "--", name)) == 2

    def test_of_a_capture(self, capture: Path, said: Said) -> None:
        """Owners and offsets are those of the log; ends and lag are not known."""
        assert said.by("groups", "describe", "a", "--offsets", "--capture", str(capture))[1] == [
            *("a", "t", "0", "41", "-", "-", "-", "-", "-", "4s", "-"),
        ]
        members = said.by("groups", "describe", "a", "--members", "--capture", str(capture))
        assert [line[1] for line in members[1:]] == ["m2", "m3"]

    def test_topics_of_a_capture_have_their_names(self, said: Said) -> None:
        """Assignments of the newer kinds have ids only; where a commit tells the name to an id, the name is shown."""
        lines = said.by("groups", "describe", "consumer-regex", "--offsets", "--capture", str(LIVES))
        assert {line[1] for line in lines[1:]} == {"consumer-regex-in", "consumer-regex-also-in"}
        assert all(line[3] != "-" and line[8].startswith("consumer-regex-") for line in lines[1:])

    def test_both_sources_answer_in_one_shape(self, url: str, capture: Path, said: Said) -> None:
        """A program that reads the JSON of one can read that of the other."""

        def shape(value: Any) -> Any:
            return sorted((key, shape(inner)) for key, inner in value.items()) if isinstance(value, dict) else None

        shapes = []
        for group, where in (("billing", ["--url", url]), ("a", ["--capture", str(capture)])):
            said.by("groups", "describe", group, "--json", *where)
            answer = json.loads(said.out)
            lists = ("by_partition", "by_topic", "by_member", "transitions")
            one = {name: answer[name][0] for name in lists}
            judged = dict.fromkeys(("finding", "findings", "verdicts"))  # a capture has no ends to judge by
            assert judged.keys() <= answer.keys()
            flat = {**answer, "unknown_lags": None, "unowned": None, **judged, **one}
            flat["by_member"]["assignment"] = None
            shapes.append(shape(flat))
        assert shapes[0] == shapes[1]


class TestHistory:
    """`lagwarden history`."""

    def test_of_a_running_instance(self, url: str, said: Said) -> None:
        """Every transition that is remembered, the oldest first."""
        lines = said.by("history", "billing", "--url", url)
        assert lines[0] == ["TIME", "(UTC)", "WHAT", "CAUSE", "SEEN", "STORY"]
        assert [line[2] for line in lines[1:]] == ["created", "rebalanced", "forgotten"]

    def test_of_a_capture(self, capture: Path, said: Said) -> None:
        """The same columns; all of it is history, whoever was there."""
        lines = said.by("history", "a", "--capture", str(capture))
        assert lines[0] == ["TIME", "(UTC)", "WHAT", "CAUSE", "SEEN", "STORY"]
        assert [line[2:5] for line in lines[1:]] == [
            ["created", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
            ["rebalanced", "-", "replayed"],
        ]
        said.by("history", "b", "--capture", str(capture), "--json")
        answer = json.loads(said.out)
        assert answer["group"] == "b"
        assert [(each["transition"], each["time"]) for each in answer["transitions"]] == [
            ("created", "1970-01-01T00:00:05.000Z"),
            ("dead", "1970-01-01T00:00:06.000Z"),
        ]

    def test_nothing_is_known_to_have_happened(self, url: str, said: Said) -> None:
        """A group without a detail has no history, and that is no error."""
        assert said.by("history", "plain", "--url", url) == []
        assert "no events recorded" in said.err

    def test_of_every_kind_that_a_broker_wrote(self, said: Said) -> None:
        """The recorded capture tells a story of each of its groups, and shows each."""
        groups = [line[0] for line in said.by("groups", "--capture", str(RECORDED))[1:]]
        assert len(groups) > 5
        for group in groups:
            assert said.by("history", group, "--capture", str(RECORDED))[1][2] == "created"


class TestRefusals:
    """One line on stderr with what to do, nothing on stdout, and a code."""

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            pytest.param(["groups", "--state", "stabel"], "--state stabel: did you mean Stable?", id="misspelt state"),
            pytest.param(["groups", "--kind", "x"], "must be one of simple, classic", id="no such kind"),
            pytest.param(["groups", "--url", "localhost:1"], "is not an http or https URL", id="no scheme"),
            pytest.param(["groups", "--url", "file:///etc/passwd"], "is not an http or https URL", id="no web address"),
            pytest.param(["groups", "--capture", "/no/file"], "/no/file", id="no such capture"),
            pytest.param(
                ["history", "a", "--url", "http://x", "--capture", "y"], "exclude each other", id="two sources"
            ),
            pytest.param(["groups", "describe"], "see `lagwarden groups describe --help`", id="no name"),
        ],
    )
    def test_wrong_usage(self, arguments: list[str], says: str, said: Said) -> None:
        """What is wrong is named."""
        code = ExitCode.UNREADABLE if "/no/file" in arguments else ExitCode.USAGE
        assert said.by(*arguments, code=code) == []
        assert says in said.err
        assert "Traceback" not in said.err

    @pytest.mark.parametrize("verb", [["groups", "describe"], ["history"]], ids=["describe", "history"])
    def test_no_such_group(self, verb: Sequence[str], url: str, capture: Path, said: Said) -> None:
        """The nearest names are offered, whoever was asked."""
        assert said.by(*verb, "biling", "--url", url, code=ExitCode.NO_SUCH_GROUP) == []
        assert said.err == "error: there is no group named biling; did you mean billing?\n"
        said.by(*verb, "zzz", "--capture", str(capture), code=ExitCode.NO_SUCH_GROUP)
        assert "`lagwarden groups` lists" in said.err

    def test_nobody_answers(self, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
        """Asked is where the configuration puts the instance; the line says what else can be done."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        monkeypatch.setenv("LAGWARDEN_HTTP_PORT", str(port))
        said.by("groups", code=ExitCode.NO_INSTANCE)
        assert f"no lagwarden answers at http://127.0.0.1:{port} (Connection refused)" in said.err
        assert "--url" in said.err
        assert "--capture" in said.err

    def test_a_proxy_in_the_environment_does_not_matter_here(
        self, url: str, said: Said, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What listens on this machine is asked directly."""
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert said.by("groups", "--url", url)

    def test_not_ready_yet(self, said: Said) -> None:
        """An instance that is catching up says so instead of numbers."""
        with running(None, **CATCHING_UP) as address:
            said.by("groups", "--url", address, code=ExitCode.NOT_READY)
        assert "is not ready yet: catching up. Reading what groups have committed so far;" in said.err

    @pytest.mark.parametrize(
        ("code", "body"),
        [
            pytest.param(200, b"<html>hello</html>", id="a page"),
            pytest.param(200, b"[1]", id="other JSON"),
            pytest.param(404, b"not found", id="nothing there"),
            pytest.param(404, b'{"error": "no route"}', id="another API"),
            pytest.param(502, b"Bad gateway", id="a proxy"),
            pytest.param(500, b"{}", id="a fault"),
        ],
    )
    def test_what_answers_is_something_else(self, code: int, body: bytes, said: Said) -> None:
        """Whatever it is, it is told in one line and is never taken for a missing group."""
        with stranger(code, body) as address:
            said.by("history", "a", "--url", address, code=ExitCode.NO_INSTANCE)
            with pytest.raises(Refusal):
                InstanceClient(address).group("a")
        assert len(said.err.splitlines()) == 1
        assert address in said.err
        assert "there is no group" not in said.err


def test_old_numbers_are_said_to_be_old(said: Said) -> None:
    """A snapshot that is not renewed is shown with its age; a fresh one without a word."""
    for age, told in ((3600.0, True), (1.0, False)):
        with running(dataclasses.replace(small_world(), taken_at=time.time() - age)) as address:
            said.by("groups", "--url", address)
        assert ("note: these numbers are 1h0m old" in said.err) == told


def test_behind_a_proxy_with_a_prefix() -> None:
    """Names travel in the query, and the prefix of an address is kept."""
    asked = []

    class Records(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"snapshot_time":"2023-11-14T22:13:20.000Z"}')

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Records) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        InstanceClient(f"http://127.0.0.1:{server.server_port}/kafka/", clock=lambda: NOON / 1000).group("a/../b c&d")
        thread.join()
    (path,) = asked
    assert path.startswith("/kafka/api/v1/group?")
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(path).query) == {"name": ["a/../b c&d"]}


def test_on_a_terminal_rich_draws(url: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees the same cells, drawn; a name with markup is only a name."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    said.by("groups", "--url", url)
    assert "billing" in said.out
    with running(snapshot(groups=[{"group": "[red]x[/red]"}])) as address:
        said.by("groups", "--url", address)
    assert "[red]x[/red]" in said.out
    said.by("groups", "describe", "billing", "--url", url, "--json")
    assert said.out.startswith('{\n  "snapshot_time"')


def test_asking_an_instance_loads_nothing_heavy(url: str) -> None:
    """A table of a running instance needs neither Spark nor Arrow nor a Kafka client: it is there at once."""
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
