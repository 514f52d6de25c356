"""Hostile names of groups, topics, clients, hosts and members in every output: shown as text, and as nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import subprocess
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from stream.cli.app import main
from tests.chaos.markup import Markup
from tests.chaos.names import MEMBERS_GROUP, NAMES, TOPIC, records, shown
from tests.integration.traffic import commit, consumer, join_and_commit, make_topic, offsets_ends, write_raw
from tests.support.monitor import Answer, Monitor
from tests.support.terminal import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]

PARTITIONS: Final = 4
LIVE: Final = ("terminal sequences", "HTML element", "Prometheus labels")
"""Names that real members give as their client ids."""
GROUPS: Final = {what: shown(name) for what, name in NAMES.items()}
ALL_GROUPS: Final = (*GROUPS.values(), MEMBERS_GROUP, *(f"live {what}" for what in LIVE))
LONG_ADDRESS: Final = 60_000
"""Bytes of a request line that a server need not read."""
REFUSED_ADDRESS: Final = {400, 414, 431}
STYLES: Final = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[[?0-9;]*[hlHJK]|\x1b\[\?\d+\$p|\x1b\[[<>]\d*u|\x1b\]22;\w+\x07|\r(?=\r*\n)"
)
"""What the program itself writes to a terminal: styles, modes, positions, erasing, ends of lines. None of them reports
or sets a title, so a hostile sequence is left over."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """A monitor of a broker whose offsets topic holds all hostile names, and a capture of that topic."""

    monitor: Monitor
    capture: Path

    @property
    def url(self) -> str:
        """Return the address of the monitor."""
        return f"http://{LOOPBACK}:{self.monitor.port}"

    def get_named(self, path: str, name: str) -> Answer | None:
        """Ask for a group by its name in the query; None where the address is too long to be read."""
        address = f"{path}?name={urllib.parse.quote(name, safe='')}"
        answer = self.monitor.get(address)
        if answer.status in REFUSED_ADDRESS and len(address) > LONG_ADDRESS:
            return None
        assert answer.status == 200, (name[:80], answer.text[:200])
        return answer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Provide the scene; the names that a broker takes from a client also come from real members."""
    folder = tmp_path_factory.mktemp("names")
    with Broker(offsets_partitions=PARTITIONS) as broker, contextlib.ExitStack() as members:
        make_topic(broker.bootstrap, TOPIC, 3)
        for what in LIVE:
            member = consumer(broker.bootstrap, f"live {what}", group_protocol="consumer", client_id=GROUPS[what])
            join_and_commit(members.enter_context(member), TOPIC, {0: 1})
        commit(broker.bootstrap, GROUPS["HTML element"], TOPIC, {2: 1})
        by_partition: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
        for home, key, value in records(PARTITIONS, int(time.time() * 1000)):
            by_partition.setdefault(home, []).append((key, value))
        for home, written in by_partition.items():
            assert write_raw(broker.bootstrap, home, written) == []
        capture = folder / "capture.avro"
        assert main(["capture", str(capture), "--bootstrap-servers", broker.bootstrap]) == 0
        with Monitor(broker.bootstrap, folder) as monitor:
            monitor.wait_ready().wait_read(offsets_ends(broker.bootstrap))
            yield Scene(monitor, capture)


def raw(text: str) -> list[str]:
    """Return the characters of a printed text that are not to be printed as they are."""
    return sorted({sign for sign in text if not sign.isprintable() and sign != "\n"})


# --- what machines read ---


def test_metrics_carry_every_name_and_parse(scene: Scene) -> None:
    """Both formats parse, each name is a label value, and no name makes a sample of its own."""
    metrics = scene.monitor.metrics()
    assert set(GROUPS.values()) <= metrics.groups
    topics = {topic for _, topic, _ in metrics.committed}
    assert set(GROUPS.values()) <= topics
    assert metrics.rows("lagwarden_forged_total") == []
    text = scene.monitor.get("/metrics", accept="application/openmetrics-text").text
    families = list(text_string_to_metric_families(text))
    named = {sample.labels.get("group") for family in families for sample in family.samples}
    assert set(GROUPS.values()) <= named
    assert not [family.name for family in families if "forged" in family.name]


def test_promtool_accepts_the_metrics(scene: Scene) -> None:
    """The parser of Prometheus itself reads the exposition."""
    try:
        promtool = find_tool("promtool", fetch=True)
    except ToolMissingError as missing:
        pytest.skip(str(missing))
    text = scene.monitor.get("/metrics").text.encode()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False, timeout=60)
    assert done.returncode in {0, 3}, done.stderr.decode()[-2000:]  # 3: a matter of style
    assert b"error while linting" not in done.stderr
    assert subprocess.run([promtool, "check", "metrics"], input=b'a{b="c\n"} 1\n', check=False).returncode == 1


def test_the_api_gives_each_group_as_it_is_called(scene: Scene) -> None:
    """All groups, and each one by its name, are valid JSON with the very name."""
    rows = scene.monitor.get("/api/v1/groups").json["groups"]
    assert {row["group"] for row in rows} == set(ALL_GROUPS)
    for name in GROUPS.values():
        answer = scene.get_named("/api/v1/group", name)
        if answer is not None:
            told: dict[str, Any] = answer.json
            assert told["group"] == name
            assert {row["topic"] for row in told["by_partition"]} >= {name}
            assert "forged" not in told


def test_members_are_told_with_the_names_they_gave(scene: Scene) -> None:
    """Member id, client id and host of raw records, and client ids of real members, come through whole."""
    answer = scene.get_named("/api/v1/group", MEMBERS_GROUP)
    assert answer is not None
    short = [name for name in NAMES.values() if 0 < len(name) < 1000]
    told = answer.json["by_member"]
    assert {member["member_id"] for member in told} == {shown(b"member " + name) for name in short}
    assert {(member["client_id"], member["client_host"]) for member in told} == {(shown(short[0]), shown(short[1]))}
    for what in LIVE:
        live = scene.get_named("/api/v1/group", f"live {what}")
        assert live is not None
        assert [member["client_id"] for member in live.json["by_member"]] == [GROUPS[what]]


# --- what people read ---


def test_pages_hold_no_markup_of_a_name(scene: Scene) -> None:
    """No element, attribute, comment or script comes from a name, on the list and on the page of each group."""
    pages = [scene.monitor.get("/")]
    pages += [page for name in ALL_GROUPS if (page := scene.get_named("/group", name))]
    for page in pages:
        assert page.status == 200
        markup = Markup(page.text)
        assert "xhostile" not in markup.elements
        assert not [name for name in markup.attributes if "hostile" in name]
        assert not [text for text in markup.comments + markup.scripts if "hostile" in text]
        # Narrow and no-break spaces are the page's own.
        assert raw(re.sub("[\u00a0\u202f]", "", "".join(markup.shown))) == []
    assert "&lt;xhostile" in pages[0].text


@pytest.mark.parametrize("verb", [["groups", "describe"], ["groups", "describe", "--json"], ["explain"], ["history"]])
def test_verbs_about_one_group_print_no_control_character(
    scene: Scene, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    """Of each group, and of one with hostile members, what is printed is printable."""
    for name in ALL_GROUPS:
        if scene.get_named("/api/v1/group", name) is None:
            continue
        code = main([*verb, "--url", scene.url, "--", name])
        said = capsys.readouterr()
        assert code == 0, (name, said.err)
        assert (raw(said.out), raw(said.err)) == ([], []), name
        if "--json" in verb:
            assert json.loads(said.out)["group"] == name


@pytest.mark.parametrize(
    "verb",
    [
        ["groups", "--url", "{url}"],
        ["groups", "--json", "--url", "{url}"],
        ["groups", "--capture", "{capture}"],
        ["decode", "--input", "{capture}"],
        ["replay", "{capture}"],
        ["metrics"],
        ["groups", "describe", "--capture", "{capture}", "--", GROUPS["terminal sequences"]],
        ["history", "--capture", "{capture}", "--", GROUPS["right-to-left override"]],
        ["explain", "--url", "{url}", "--", "no such group \x1b]0;owned\x07"],
    ],
    ids=lambda verb: " ".join(word for word in verb if word.isprintable()),
)
def test_verbs_print_no_control_character(scene: Scene, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    """Into a pipe, output and errors are printable characters and line feeds alone."""
    main([word.replace("{url}", scene.url).replace("{capture}", str(scene.capture)) for word in verb])
    said = capsys.readouterr()
    assert said.out or said.err
    assert (raw(said.out), raw(said.err)) == ([], [])


def test_decode_prints_one_json_object_per_record(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line parses as JSON, and the names in it are whole."""
    main(["decode", "--input", str(scene.capture)])
    lines = capsys.readouterr().out.split("\n")[:-1]
    decoded = [json.loads(line) for line in lines]
    assert {record["key"]["data"]["group"] for record in decoded if record["key"]["type"] == 1} >= set(GROUPS.values())


@pytest.mark.parametrize(
    "verb",
    [
        ["groups", "--url", "{url}"],
        ["explain", "--url", "{url}", "--", GROUPS["terminal sequences"]],
        ["replay", "{capture}"],
        pytest.param(["groups", "describe", "--url", "{url}", "--", MEMBERS_GROUP], marks=pytest.mark.long),
        pytest.param(["history", "--url", "{url}", "--", GROUPS["C1 controls"]], marks=pytest.mark.long),
        ["decode", "--input", "{capture}"],
        pytest.param(["groups", "--json", "--url", "{url}"], marks=pytest.mark.long),
    ],
    ids=lambda verb: " ".join(word for word in verb if word.isprintable()),
)
def test_a_terminal_gets_no_sequence_of_a_name(scene: Scene, verb: list[str]) -> None:
    """On a terminal there are styles besides, and nothing else that is not printable."""
    words = [word.replace("{url}", scene.url).replace("{capture}", str(scene.capture)) for word in verb]
    with Program("import sys; from stream.cli.app import main; sys.exit(main(sys.argv[1:]))", *words) as program:
        program.wait_for_end()
        assert raw(STYLES.sub("", program.said)) == []
        assert program.said


def test_top_draws_no_sequence_of_a_name(scene: Scene) -> None:
    """Neither the list nor the view of a group lets a terminal sequence through."""
    words = ["top", "--url", scene.url, "--every", "0.5"]
    script = "import sys; from stream.cli.app import main; sys.exit(main(sys.argv[1:]))"
    with Program(script, *words, size=(60, 120)) as program:
        program.wait_for("type to filter")
        program.press("owned")
        program.wait_for("filter: owned")
        program.press("\r")
        program.wait_for("owned")
        program.press("q")
        drawn = STYLES.sub("", program.said)
    assert raw(drawn) == []


def test_the_log_is_json_without_control_characters(scene: Scene) -> None:
    """Each line of the log is one JSON object, whatever the names."""
    lines = scene.monitor.said.splitlines()
    assert lines
    assert [line for line in lines if raw(line)] == []
    assert all(isinstance(json.loads(line), dict) for line in lines if line.startswith("{"))


def test_the_monitor_stays_ready(scene: Scene) -> None:
    """After all of that the monitor is ready and has published again."""
    scene.monitor.wait_ticks(1)
    assert scene.monitor.get("/readyz").status == 200
