"""What is the matter with a group, on its page: verdict, sentence, numbers, what to do, per partition and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporters.page.formatting import badge, known, lasting, listed, named, severity_class
from exporters.page.group_tables import ROWS, section
from exporters.page.html_tree import Element, el
from exporters.wording import ago, duration, evidence_words, number, phrase, printable, utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.page.html_tree import Content
    from exporters.readmodel import FindingDetail, GroupDetail, TransitionDetail, VerdictChange

_FINDINGS: Final = (("Topic", ""), ("Partition", "number"), ("Verdict", ""), ("For", "number"), ("Why", ""))
_HISTORY: Final = (("When (UTC)", ""), ("", ""), ("What", ""), ("Story", ""))


def verdict_card(row: Mapping[str, Any], finding: FindingDetail | None, now: float) -> Content:
    """Say what is the matter: of the snapshot what it says, and the rest where the detail is known."""
    if row["verdict"] is None:
        return None
    sentence = finding.sentence if finding is not None else row["sentence"]
    # It is the verdict that has lasted so long; another of the same severity may have stood before it.
    begun = None if row["verdict_since"] is None else [lasting(row["verdict_since"], now), " \N{MIDDLE DOT} "]
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
    """Show the numbers that the sentence was drawn from; the exact value shows when one points at it."""
    words = evidence_words(finding.evidence, now)
    shown = [el("div", el("dt", label), el("dd", said, title=exact or None)) for label, said, exact in words]
    return el("dl", shown, aria_label="The numbers behind it") if shown else None


def findings_section(detail: GroupDetail, now: float) -> Content:
    """Show every partition that is not fine, with its own sentence, the worst first."""
    if not detail.partition_findings:
        return None
    rows = [_finding(*each, detail.finding, now) for each in detail.partition_findings[:ROWS]]
    return section("Partitions that are not fine", len(detail.partition_findings), _FINDINGS, rows)


def _finding(topic: str, partition: int, finding: FindingDetail, of_group: FindingDetail | None, now: float) -> Element:
    """Give a partition's finding. What to do is said again only where it is something else than for the group."""
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
    """Show what happened and how the verdict changed, in one list, the latest first."""
    happened: list[tuple[float, Element]] = [
        *((each.time, _transition(each, now)) for each in detail.transitions),
        *((each.time, _change(each, now)) for each in detail.verdicts),
    ]
    if not happened:
        nothing = el("p", "Nothing has happened as far back as is known.", class_="note")
        return el("section", el("h2", "History"), nothing, aria_label="History")
    happened.sort(key=lambda each: each[0], reverse=True)
    return section("History", len(happened), _HISTORY, [row for _, row in happened[:ROWS]])


def _transition(transition: TransitionDetail, now: float) -> Element:
    what = printable(transition.transition)
    shown = [el("span", what, class_=f"happening {what}")]
    if transition.cause:
        shown.append(el("b", printable(transition.cause)))
    if not transition.live:
        shown.append(el("small", "replayed", title="Read when the monitor started"))
    return _happened(transition.time, listed(shown, " "), transition.text, now)


def _change(change: VerdictChange, now: float) -> Element:
    before = [phrase(change.before), " \N{RIGHTWARDS ARROW} "] if change.before is not None else None
    return _happened(change.time, el("span", "verdict ", before, el("b", phrase(change.verdict))), change.sentence, now)


def _happened(time: float, what: Content, story: str, now: float) -> Element:
    return el(
        "tr",
        el("td", utc(time), class_="time"),
        el("td", el("small", ago(time, now)), class_="time"),
        el("td", what),
        el("td", printable(story), class_="long"),
        data_key=f"{time} {story}",
    )
