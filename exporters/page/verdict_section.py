"""The verdict on a group's page: sentence, evidence and next step, findings per partition, and history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporters.page.formatting import badge, known, lasting, listed, named, severity_class
from exporters.page.group_tables import ROWS, section
from exporters.page.html_tree import Element, el
from exporters.wording import FINE, ago, duration, evidence_words, number, phrase, printable, utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.page.html_tree import Content
    from exporters.readmodel import FindingDetail, GroupDetail, TransitionDetail, VerdictChange

_FINDINGS: Final = (("Topic", ""), ("Partition", "number"), ("Verdict", ""), ("For", "number"), ("Explanation", ""))
_HISTORY: Final = (("Time (UTC)", ""), ("Age", ""), ("Event", ""), ("Description", ""))


def verdict_card(row: Mapping[str, Any], finding: FindingDetail | None, now: float) -> Content:
    """Return the card with the verdict of the snapshot, and the evidence and next step if the detail is known."""
    if row["verdict"] is None:
        return None
    sentence = finding.sentence if finding is not None else row["sentence"]
    # The duration is that of the verdict; an earlier verdict may have had the same severity.
    # Of a fine one there is none: a busy group alternates between these, and its history does not have the changes.
    has_duration = row["verdict_since"] is not None and row["severity"] != FINE
    begun = [lasting(row["verdict_since"], now), " \N{MIDDLE DOT} "] if has_duration else None
    return el(
        "section",
        el(
            "p", badge(row["verdict"], row["severity"]), " ", el("span", begun, phrase(row["severity"]), class_="phase")
        ),
        el("p", printable(sentence), class_="sentence") if sentence else None,
        el("p", el("b", "What to do: "), printable(finding.next_step), class_="next") if finding is not None else None,
        _evidence(finding, now) if finding is not None else None,
        class_=f"card verdict {severity_class(row['severity'])}",
        aria_label="Verdict",
    )


def _evidence(finding: FindingDetail, now: float) -> Content:
    """Return the numbers behind the sentence, with the exact values as titles."""
    words = evidence_words(finding.evidence, now)
    shown = [el("div", el("dt", label), el("dd", text, title=exact or None)) for label, text, exact in words]
    return el("dl", shown, aria_label="Evidence") if shown else None


def findings_section(detail: GroupDetail, now: float) -> Content:
    """Return the partitions that are not fine with their sentences, the worst first."""
    if not detail.partition_findings:
        return None
    rows = [_finding(*each, detail.finding, now) for each in detail.partition_findings[:ROWS]]
    return section("Partitions that are not fine", len(detail.partition_findings), _FINDINGS, rows)


def _finding(topic: str, partition: int, finding: FindingDetail, of_group: FindingDetail | None, now: float) -> Element:
    """Return a row for a partition's finding. The next step is omitted if it is that of the group."""
    begun = known(None) if finding.since is None else duration(max(now - finding.since, 0.0))
    same = of_group is not None and of_group.next_step == finding.next_step
    return el(
        "tr",
        el("th", named(topic), scope="row"),
        el("td", number(partition), class_="number partition"),
        el("td", badge(finding.verdict, finding.severity)),
        el("td", begun, class_="number lasting"),
        el(
            "td",
            printable(finding.sentence),
            " ",
            None if same else el("small", printable(finding.next_step)),
            class_="long",
        ),
        data_key=f"{partition} {topic}",
    )


def history_section(detail: GroupDetail, now: float) -> Element:
    """Return transitions and verdict changes in one table, the latest first."""
    events: list[tuple[float, Element]] = [
        *((each.time, _transition(each, now)) for each in detail.transitions),
        *((each.time, _change(each, now)) for each in detail.verdicts),
    ]
    if not events:
        nothing = el("p", "No transitions and no verdict changes.", class_="note")
        return el("section", el("h2", "History"), nothing, aria_label="History")
    events.sort(key=lambda each: each[0], reverse=True)
    return section("History", len(events), _HISTORY, [row for _, row in events[:ROWS]])


def _transition(transition: TransitionDetail, now: float) -> Element:
    what = printable(transition.transition)
    shown = [el("span", what, class_=f"happening {what}")]
    if transition.cause:
        shown.append(el("b", printable(transition.cause)))
    if not transition.live:
        shown.append(el("small", "replayed", title="Read by the initial catch-up"))
    return _event(transition.time, listed(shown, " "), transition.text, now)


def _change(change: VerdictChange, now: float) -> Element:
    before = [phrase(change.before), " \N{RIGHTWARDS ARROW} "] if change.before is not None else None
    return _event(change.time, el("span", "verdict ", before, el("b", phrase(change.verdict))), change.sentence, now)


def _event(time: float, event: Content, description: str, now: float) -> Element:
    return el(
        "tr",
        el("td", utc(time), class_="time"),
        el("td", el("small", ago(time, now)), class_="time"),
        el("td", event),
        el("td", printable(description), class_="long"),
        data_key=f"{time} {description}",
    )
