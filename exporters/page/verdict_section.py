"""The verdict on a group's page: sentence, evidence and next step, findings per partition, and history."""

import operator
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from exporters.page import ui
from exporters.page.html_tree import Content, Element, el
from exporters.page.links import NEXT_RECORD, PageLinks
from exporters.readmodel import FindingDetail, GroupDetail, TransitionDetail, VerdictChange
from exporters.wording import FINE, ago, count, duration, evidence_words, number, phrase, printable, unix_time, utc

_TOOLS: Final = {"share": "bin/kafka-share-groups.sh", "streams": "bin/kafka-streams-groups.sh"}
"""Kafka's tool by the kind of a group, in the folder of Kafka; it is `_OFFSETS_TOOL` for all others."""
_OFFSETS_TOOL: Final = "bin/kafka-consumer-groups.sh"
_EXPLAIN: Final = "lagwarden explain"
_ANY_BROKER: Final = "localhost:9092"


def shell_word(text: str) -> str:
    r"""Return a text as one word for bash; unprintable characters are escaped (`$'a\x0ab'`)."""
    if text.isprintable():
        return shlex.quote(text)
    signs = (f"\\{sign}" if sign in "\\'" else sign if sign.isprintable() else _escaped(sign.encode()) for sign in text)
    return f"$'{''.join(signs)}'"


def _escaped(utf8: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in utf8)


def group_commands(
    row: Mapping[str, Any], bootstrap_servers: Sequence[str], command_config: str | None = None
) -> list[tuple[str, str]]:
    """Return what each command does, and the command.

    `row` is a row of GROUPS, `command_config` the file with the TLS and SASL settings of Kafka's tools if they need it.
    """
    name, tool = row["group"], _TOOLS.get(row["kind"] or "", _OFFSETS_TOOL)
    # A name that begins with a dash must not be read as an option.
    dashed = name.startswith("-")
    explain = f"{_EXPLAIN} {'-- ' if dashed else ''}{shell_word(name)}"
    broker = shell_word(",".join(bootstrap_servers) or _ANY_BROKER)
    login = "" if command_config is None else f" --command-config {shell_word(command_config)}"
    base = f"{tool} --bootstrap-server {broker}{login} --group{'=' if dashed else ' '}{shell_word(name)}"
    commands = [("Explain the verdict", explain), ("Describe the group", f"{base} --describe")]
    if tool == _OFFSETS_TOOL:
        reset = f"{base} --reset-offsets --all-topics --to-latest --dry-run"
        commands.append(("Preview a reset to the latest offsets, of a group without members", reset))
    return commands


def commands_section(row: Mapping[str, Any], links: PageLinks, root: str = "") -> Element:
    """Return the commands, each with a button that copies it.

    The script of the page adds the address of `root`, the relative path to the overview, to the commands of lagwarden.
    """
    commands = [
        el(
            "li",
            el("p", words),
            # The script fills the element with the option `--url`.
            el(
                "code",
                [_EXPLAIN, el("span", data_keep=True, data_root=root)] if command.startswith(_EXPLAIN) else None,
                command.removeprefix(_EXPLAIN),
                id=f"command-{at}",
            ),
            " ",
            el("button", "Copy", type="button", data_copies=f"command-{at}", aria_label=f"Copy: {words}"),
        )
        for at, (words, command) in enumerate(group_commands(row, links.bootstrap_servers, links.command_config))
    ]
    needed = None
    if links.command_config is not None:
        needed = ui.note(f"{links.command_config} has your TLS and SASL settings for Kafka's tools.")
    return ui.titled("Commands", el("ul", commands, class_="commands"), needed)


_NEAR_SECONDS: Final = 300.0
"""What happened to a group at most this long before or after it stopped is named beside it."""
_IN_FIELDS: Final = ("owner_client", "owner_host", "owner_member")
"""Evidence that the field of the owner has."""


def verdict_card(row: Mapping[str, Any], detail: GroupDetail | None, now: float) -> Content:
    """Return the card with the verdict of the snapshot, and the evidence and next step if the detail is known."""
    if row["verdict"] is None:
        return None
    finding = None if detail is None else detail.finding
    sentence = row["sentence"] if finding is None else finding.sentence.removesuffix(finding.about_owner)
    # The duration is that of the verdict; an earlier verdict may have had the same severity.
    # Of a fine one there is none: a busy group alternates between these, and its history does not have the changes.
    has_duration = row["verdict_since"] is not None and row["severity"] != FINE
    begun = [ui.lasting(row["verdict_since"], now), " \N{MIDDLE DOT} "] if has_duration else None
    return el(
        "section",
        el(
            "p",
            ui.badge(row["verdict"], row["severity"]),
            " ",
            el("span", begun, phrase(row["severity"]), class_="phase"),
        ),
        el("p", printable(sentence), class_="sentence") if sentence else None,
        el("p", el("b", "What to do: "), printable(finding.next_step), class_="next") if finding is not None else None,
        _evidence(finding, _fields(detail, finding), now) if detail is not None and finding is not None else None,
        class_=f"card verdict {ui.severity_class(row['severity'])}",
        aria_label="Verdict",
    )


def _fields(detail: GroupDetail, finding: FindingDetail) -> list[tuple[str, str, str]]:
    """Return the owner, and since when a fault lasts, with what happened to the group shortly before."""
    client, host, member = (finding.evidence.get(name) for name in _IN_FIELDS)
    owner = [("owner", printable(f"{client or member} on {host}"), printable(str(member)))] if client or member else []
    stood = unix_time(finding.evidence.get("progress_time"))
    begun = finding.since if stood is None else stood
    if begun is None or finding.severity == FINE:
        return owner
    near = [each for each in detail.transitions if abs(each.time - begun) <= _NEAR_SECONDS]
    cause = f", {_beside(min(near, key=lambda each: abs(each.time - begun)), begun)}" if near else ""
    return [*owner, ("since", f"{utc(begun)[11:]}{cause}", f"{utc(begun)} UTC")]


def _beside(transition: TransitionDetail, begun: float) -> str:
    """Return what happened to a group shortly before or after, as in "after a rebalance: 1 member joined"."""
    when = "after" if transition.time <= begun else "before"
    if transition.transition != "rebalanced":
        return f"{when}: {printable(transition.text)}"
    changes = ((transition.joined, "joined"), (transition.left, "left"))
    words = ", ".join(f"{count(number, 'member')} {verb}" for number, verb in changes if number)
    return f"{when} a rebalance: {words or 'the same members'}"


def _evidence(finding: FindingDetail, fields: list[tuple[str, str, str]], now: float) -> Content:
    """Return fields and the numbers behind the sentence, with the exact values as titles."""
    numbers = {name: value for name, value in finding.evidence.items() if name not in _IN_FIELDS}
    words = (*fields, *evidence_words(numbers, now))
    shown = [el("div", el("dt", label), el("dd", text, title=exact or None)) for label, text, exact in words]
    return el("dl", shown, aria_label="Evidence") if shown else None


def findings_section(detail: GroupDetail, links: PageLinks, now: float) -> Content:
    """Return the partitions that are not fine with their sentences and next records, the worst first.

    The one of which the card of the verdict has the sentence is left out.
    """
    in_card = partition_in_card(detail)
    found = [each for each in detail.partition_findings if each is not in_card]
    if not found:
        return None

    columns = (
        ui.PageColumn("Topic", lambda each: ui.named(each[0])),
        ui.PageColumn("Partition", lambda each: number(each[1]), "number partition"),
        ui.PageColumn("Verdict", lambda each: ui.badge(each[2].verdict, each[2].severity)),
        ui.PageColumn(
            "For", lambda each: ui.known(each[2].since, lambda at: duration(max(now - at, 0.0))), "number lasting"
        ),
        ui.PageColumn("Explanation", lambda each: _explanation(each, detail.finding, links), "long"),
    )
    title = "Partitions that are not fine" if in_card is None else "Other partitions that are not fine"
    return ui.section(title, columns, found, lambda each: f"{each[1]} {each[0]}")


def partition_in_card(detail: GroupDetail) -> tuple[str, int, FindingDetail] | None:
    """Return topic, partition and finding of the partition that the sentence of the group is about; None: not known."""
    sentence = "" if detail.finding is None else detail.finding.sentence
    named = ((f"{each[0]}-{each[1]}", each) for each in detail.partition_findings)
    return next((each for name, each in named if sentence.startswith((f"{name} ", f"{name}:"))), None)


def _explanation(
    of_partition: tuple[str, int, FindingDetail], of_group: FindingDetail | None, links: PageLinks
) -> Content:
    """Return the sentence of a finding. The next step is omitted if it is that of the group."""
    topic, partition, finding = of_partition
    url = links.message(topic, partition, finding.evidence.get("committed_offset"))
    same = of_group is not None and of_group.next_step == finding.next_step
    return (
        printable(finding.sentence),
        " ",
        None if same else el("small", printable(finding.next_step)),
        None if url is None else [" ", el("a", NEXT_RECORD, href=url, rel="noopener noreferrer")],
    )


def history_section(detail: GroupDetail, now: float) -> Element:
    """Return transitions and verdict changes in one table, the latest first."""
    events: list[tuple[float, Content, str]] = [
        *((each.time, _transition(each), each.text) for each in detail.transitions),
        *((each.time, _change(each), each.sentence) for each in detail.verdicts),
    ]
    if not events:
        return ui.titled("History", ui.note("No transitions and no verdict changes."))
    events.sort(key=operator.itemgetter(0), reverse=True)
    columns = (
        ui.PageColumn("Time (UTC)", lambda event: utc(event[0]), "time"),
        ui.PageColumn("Age", lambda event: el("small", ago(event[0], now)), "time"),
        ui.PageColumn("Event", operator.itemgetter(1)),
        ui.PageColumn("Description", lambda event: printable(event[2]), "long"),
    )
    return ui.section("History", columns, events, lambda event: f"{event[0]} {event[2]}")


def _transition(transition: TransitionDetail) -> Content:
    what = printable(transition.transition)
    shown = [el("span", what, class_=f"happening {what}")]
    if transition.cause:
        shown.append(el("b", printable(transition.cause)))
    if not transition.live:
        shown.append(el("small", "replayed", title="Read by the initial catch-up"))
    return ui.listed(shown, " ")


def _change(change: VerdictChange) -> Content:
    before = [phrase(change.before), " \N{RIGHTWARDS ARROW} "] if change.before is not None else None
    return el("span", "verdict ", before, el("b", phrase(change.verdict)))
