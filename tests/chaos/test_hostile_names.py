"""Hostile names of groups, topics, clients, hosts and members appear in every output only as text."""

import contextlib
import dataclasses
import json
import re
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from stream.cli.app import main
from tests.chaos.names import MEMBERS_GROUP, NAMES, TOPIC, records, shown
from tests.integration.traffic import commit, consumer, join_and_commit, make_topic, offsets_ends, write_raw
from tests.support.monitor import Answer, Monitor
from tests.support.processes import patience
from tests.support.terminal import Program

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

PARTITIONS: Final = 4
LIVE: Final = ("terminal sequences", "HTML element", "Prometheus labels")
"""Names that real members use as client ids."""
GROUPS: Final = {what: shown(name) for what, name in NAMES.items()}
ALL_GROUPS: Final = (*GROUPS.values(), MEMBERS_GROUP, *(f"live {what}" for what in LIVE))
LONG_ADDRESS: Final = 60_000
"""Bytes of a request line that a server may reject."""
REFUSED_ADDRESS: Final = {400, 414, 431}
STYLES: Final = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[[?0-9;]*[hlHJK]|\x1b\[\?\d+\$p|\x1b\[[<>]\d*u|\x1b\]22;\w+\x07|\r(?=\r*\n)"
)
"""Control sequences of the program itself: styles, modes, positions, erasing, line ends. None of them reports or sets a
title, so a hostile sequence remains after their removal."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostileCluster:
    """A monitor of a broker whose offsets topic holds all hostile names, and a capture of that topic."""

    monitor: Monitor
    capture: Path

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.monitor.port}"

    def get_named(self, path: str, name: str) -> Answer | None:
        """Return the answer for a group by its name in the query; None if the URL is too long."""
        address = f"{path}?name={urllib.parse.quote(name, safe='')}"
        answer = self.monitor.get(address)
        if answer.status in REFUSED_ADDRESS and len(address) > LONG_ADDRESS:
            return None
        assert answer.status == 200, (name[:80], answer.text[:200])
        return answer


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileCluster]:
    """Return the cluster; the names that a broker takes from a client also come from real members."""
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
            yield HostileCluster(monitor, capture)


class Markup(HTMLParser):
    """The elements, attributes, comments and inline scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.comments: list[str] = []
        self.scripts: list[str] = []
        self.shown: list[str] = []
        """Visible text and titles."""
        self._in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.shown += [value or "" for name, value in attrs if name in {"title", "aria-label"}]
        self._in_script = tag == "script"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if not self._in_script:
            self.shown.append(data)
        elif data.strip():
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"


def raw(text: str) -> list[str]:
    """Return the characters of a text that must not be printed unescaped."""
    return sorted({sign for sign in text if not sign.isprintable() and sign != "\n"})


def test_metrics_carry_every_name_and_parse(cluster: HostileCluster) -> None:
    """Both formats parse, each name is a label value, and no name creates a sample."""
    metrics = cluster.monitor.metrics()
    assert set(GROUPS.values()) <= metrics.groups
    topics = {topic for _, topic, _ in metrics.committed}
    assert set(GROUPS.values()) <= topics
    assert metrics.rows("lagwarden_forged_total") == []
    text = cluster.monitor.get("/metrics", accept="application/openmetrics-text").text
    families = list(text_string_to_metric_families(text))
    named = {sample.labels.get("group") for family in families for sample in family.samples}
    assert set(GROUPS.values()) <= named
    assert not [family.name for family in families if "forged" in family.name]


def test_promtool_accepts_the_metrics(cluster: HostileCluster) -> None:
    """Prometheus' own parser reads the exposition."""
    try:
        promtool = find_tool("promtool", fetch=True)
    except ToolMissingError as missing:
        pytest.skip(str(missing))
    text = cluster.monitor.get("/metrics").text.encode()
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, check=False, timeout=patience(60)
    )
    assert done.returncode in {0, 3}, done.stderr.decode()[-2000:]  # 3: a matter of style
    assert b"error while linting" not in done.stderr
    assert subprocess.run([promtool, "check", "metrics"], input=b'a{b="c\n"} 1\n', check=False).returncode == 1


def test_api_returns_each_group_by_its_exact_name(cluster: HostileCluster) -> None:
    """All groups, and each one by its name, are valid JSON with the exact name."""
    rows = cluster.monitor.get("/api/v1/groups").json["groups"]
    assert {row["group"] for row in rows} == set(ALL_GROUPS)
    for name in GROUPS.values():
        answer = cluster.get_named("/api/v1/group", name)
        if answer is not None:
            row: dict[str, Any] = answer.json
            assert row["group"] == name
            assert {each["topic"] for each in row["by_partition"]} >= {name}
            assert "forged" not in row


def test_members_have_their_exact_names(cluster: HostileCluster) -> None:
    """Member id, client id and host of raw records, and client ids of real members, are unchanged."""
    answer = cluster.get_named("/api/v1/group", MEMBERS_GROUP)
    assert answer is not None
    short = [name for name in NAMES.values() if 0 < len(name) < 1000]
    members = answer.json["by_member"]
    assert {member["member_id"] for member in members} == {shown(b"member " + name) for name in short}
    assert {(member["client_id"], member["client_host"]) for member in members} == {(shown(short[0]), shown(short[1]))}
    for what in LIVE:
        live = cluster.get_named("/api/v1/group", f"live {what}")
        assert [member["client_id"] for member in live.json["by_member"]] == [GROUPS[what]]


def test_pages_contain_no_markup_from_names(cluster: HostileCluster) -> None:
    """No name creates an element, attribute, comment or script in the list or the page of a group."""
    pages = [cluster.monitor.get("/")]
    pages += [page for name in ALL_GROUPS if (page := cluster.get_named("/group", name))]
    for page in pages:
        assert page.status == 200
        markup = Markup(page.text)
        assert "xhostile" not in markup.elements
        assert not [name for name in markup.attributes if "hostile" in name]
        assert not [text for text in markup.comments + markup.scripts if "hostile" in text]
        # Narrow and no-break spaces are the page's own.
        assert raw(re.sub("[\u00a0\u202f]", "", "".join(markup.shown))) == []
    assert "&lt;xhostile" in pages[0].text


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
def test_terminal_output_has_no_sequence_from_names(cluster: HostileCluster, verb: list[str]) -> None:
    """Only styles are unprintable in the output on a terminal."""
    words = [word.replace("{url}", cluster.url).replace("{capture}", str(cluster.capture)) for word in verb]
    with Program("import sys; from stream.cli.app import main; sys.exit(main(sys.argv[1:]))", *words) as program:
        program.wait_for_end()
        assert raw(STYLES.sub("", program.output)) == []
        assert program.output


def test_top_draws_no_sequence_from_names(cluster: HostileCluster) -> None:
    """Neither the list nor the view of a group prints a terminal sequence from a name."""
    words = ["top", "--url", cluster.url, "--every", "0.5"]
    script = "import sys; from stream.cli.app import main; sys.exit(main(sys.argv[1:]))"
    with Program(script, *words, size=(60, 120)) as program:
        program.wait_for("type to filter")
        program.press("owned")
        program.wait_for("filter: owned")
        program.press("\r")
        program.wait_for("owned")
        program.press("q")
        drawn = STYLES.sub("", program.output)
    assert raw(drawn) == []


def test_the_log_has_no_control_characters(cluster: HostileCluster) -> None:
    """No line of the log has a control character, and each line is one JSON object."""
    lines = cluster.monitor.output.splitlines()
    assert lines
    assert [line for line in lines if raw(line)] == []
    assert [line for line in lines if not line.startswith("{")] == []
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_the_monitor_stays_ready(cluster: HostileCluster) -> None:
    """The monitor is ready and publishes new snapshots after all requests."""
    cluster.monitor.wait_ticks(1)
    assert cluster.monitor.get("/readyz").status == 200
