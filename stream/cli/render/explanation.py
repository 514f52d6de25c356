"""What the matter is with one group, told to a person: verdict, sentence, what to do, the numbers, and how it came so.

Owns the order and the words around what health has found; the verdict, its sentence and the next step are health's.
From the API's answer for one group (`stream.cli.group_source.Answer`) to blocks of text, pure. `now` is Unix seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporters.wording import duration, evidence_words
from stream.cli.group_source import unix_time
from stream.cli.render.blocks import COLOURS, Block, Sentence, Span, say
from stream.cli.render.group_tables import findings_table, topics_table, transitions_table, verdicts_table
from stream.cli.render.tables import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stream.cli.group_source import Answer
    from stream.cli.render.tables import TextTable

    _Tabled = Callable[[Sequence[Answer]], TextTable]

_TOLD_AT_MOST: Final = 200
"""How many partitions an instance tells of (`exporters.readmodel.GroupDetail`)."""
FINDINGS: Final = 10
CHANGES: Final = 10
TRANSITIONS: Final = 5
"""How many partitions that are not fine, changes of the verdict and transitions are told unless all are wanted."""


def explain(group: Answer, now: float, *, everything: bool = False) -> list[Block]:
    """Tell all that helps a person to understand how a group is; a healthy one is explained as well."""
    blocks = [Block([_headline(group, now), *_why(group)]), Block(_what_to_do(group)), Block(_numbers(group, now))]
    blocks.append(Block(list(_standing(group, now))))
    blocks.extend(_partitions(group, now, everything=everything))
    if len(group["by_topic"]) > 1:
        blocks.append(Block([say("By topic", "bold")], topics_table(group["by_topic"])))
    blocks.extend(_history(group, everything=everything))
    return [block for block in blocks if block.sentences or block.table]


def _headline(group: Answer, now: float) -> Sentence:
    name = Span(shown(group["group"]), "bold")
    if group["state"] == "Dead":
        cause = group["death_cause"] or "the cause is not known"
        return Sentence([name, Span(f" is dead: {shown(cause)}, {_ago(group['died_time'], now)}.")])
    if group["verdict"] is None:
        return Sentence([name, Span(" has no verdict yet.")])
    colour = COLOURS.get(group["severity"], "")
    since = _since(group["verdict_since"], now)
    return Sentence([name, Span(": "), Span(_verdict(group), colour), Span(f"{since}.")])


def _verdict(found: Answer) -> str:
    """Say verdict and severity; what is fine or unknown does not need both words."""
    verdict, severity = _words(found["verdict"]), shown(found["severity"])
    return verdict if severity in {"fine", verdict} else f"{verdict} ({severity})"


def _why(group: Answer) -> list[Sentence]:
    finding = group["finding"]
    sentence = finding["sentence"] if finding else group["sentence"]
    return [say(shown(sentence))] if sentence else []


def _what_to_do(group: Answer) -> list[Sentence]:
    finding = group["finding"]
    return [Sentence([Span("What to do: ", "bold"), Span(shown(finding["next_step"]))])] if finding else []


def _numbers(group: Answer, now: float) -> list[Sentence]:
    finding = group["finding"]
    if not finding or not finding["evidence"]:
        return []
    rows = list(evidence_words(finding["evidence"], now, _number))
    width = max(len(label) for label, _, _ in rows)
    return [
        say("The numbers behind it", "bold"),
        *(Sentence([Span(f"{label:<{width}}  ", "dim"), Span(said)], 2) for label, said, _ in rows),
    ]


def _standing(group: Answer, now: float) -> Iterator[Sentence]:
    """Say what kind of group it is and where it stands, a sentence for each thing."""
    yield say("The group", "bold")
    state = shown(group["state"] or "in an unknown state")
    asked = " (asked from the cluster)" if group["state_asked"] else ""
    yield say(f"{_kind(group)}, {state}{asked}{_since(group['state_since'], now)}.", indent=2)
    if group["state"] == "Dead":
        return
    yield say(f"{_members(group)}; {_count(group['partitions'], 'partition')} with offsets.", indent=2)
    yield say(f"{_lag(group)}; last commit {_ago(group['last_commit_time'], now)}.", indent=2)
    yield say(_expiry(group, now), indent=2)
    if group["held_back"]:
        held = "An open transaction hides its commits from the log: they are asked from the coordinator."
        yield say(held, "yellow", 2)
    if group.get("odd_times"):
        odd = "cannot be right (in the future, before 1970 or beyond the year 9999)"
        yield say(f"{_count(group['odd_times'], 'time')} in its records {odd}.", "yellow", 2)
    for about, places in (("Owned by no member", group["unowned"]), ("Subscribed to by nobody", group["unsubscribed"])):
        if places:
            yield say(f"{about}: {', '.join(map(shown, places))}.", "yellow", 2)
    for why, partitions in group["unknown_lags"].items():
        yield say(f"Lag of {_count(partitions, 'partition')} not known: {_words(why)}.", "yellow", 2)


def _kind(group: Answer) -> str:
    kind = group["kind"]
    said = "A group of unknown kind" if kind is None else f"A {shown(kind)} group"
    return f"{said} ({shown(group['protocol'])})" if group["protocol"] else said


def _members(group: Answer) -> str:
    members = group["members"]
    if members is None:
        return "Its members are not known"
    odd = [f"{group[f'members_{how}']} {how}" for how in ("idle", "away") if group[f"members_{how}"]]
    said = _count(members, "member") if members else "No members"
    return f"{said} ({', '.join(odd)})" if odd else said


def _lag(group: Answer) -> str:
    if group["lag_sum"] is None:
        return "Lag not known"
    if not group["lag_sum"]:
        return "Nothing is unread" + (" where the lag is known" if group["partitions_lag_unknown"] else "")
    lag = f"{_count(group['lag_sum'], 'offset')} unread, {_number(group['lag_max'])} at most in a partition"
    waits = group["time_lag_max"]
    if waits is None:
        return lag
    least = "at least " if group["time_lag_max_exact"] is False else ""
    return f"{lag}, the oldest unread record waits for {least}{duration(waits)}"


def _expiry(group: Answer, now: float) -> str:
    first, whole = group["first_offset_expiry_time"], group["group_expiry_time"]
    if first is None and whole is None:
        return "No offset is about to expire."
    said = [
        f"{what} {_ahead(then, now)}"
        for what, then in (("the first offset expires", first), ("the group", whole))
        if then is not None
    ]
    text = ", ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _partitions(group: Answer, now: float, *, everything: bool) -> Iterator[Block]:
    """Give the numbers of each partition that is not fine, and say in words what the group's own sentence does not."""
    found: Sequence[Answer] = group["findings"] or ()
    if not found:
        return
    kept = found if everything else found[:FINDINGS]
    title = f"Partitions that are not fine: {_of_all(len(found), group['partitions'])}"
    more = f", the worst {len(kept)}; --all tells of all" if len(kept) < len(found) else ""
    heading = Sentence([Span(title, "bold"), Span(more, "dim")])
    yield Block([heading], findings_table(kept, group, now))
    told = found if everything else _one_of_each(found, group["verdict"])
    if lines := [line for each in told for line in _finding(each, group, now)]:
        yield Block(lines)


def _one_of_each(found: Sequence[Answer], verdict: str | None) -> list[Answer]:
    """Give the worst partition of each verdict but the group's: that one has been told."""
    worst: dict[str, Answer] = {}
    for each in found:
        worst.setdefault(each["verdict"], each)
    return [each for word, each in worst.items() if word != verdict]


def _of_all(found: int, partitions: int | None) -> str:
    """Say how many there are. Of very many an instance tells only the worst, and partitions without a commit count."""
    if found >= _TOLD_AT_MOST:
        return f"the worst {found}"
    return f"{found}" if partitions is None or partitions < found else f"{found} of {_number(partitions)}"


def _finding(finding: Answer, group: Answer, now: float) -> Iterator[Sentence]:
    place = f"{shown(finding['topic'])}-{finding['partition']}"
    colour = COLOURS.get(finding["severity"], "")
    head = [Span(f"{place}: "), Span(_words(finding["verdict"]), colour), Span(f"{_since(finding['since'], now)}. ")]
    yield Sentence([*head, Span(shown(finding["sentence"]))], 2)
    if finding["evidence"]:
        yield say(_in_line(finding["evidence"], now), "dim", 4)
    if not group["finding"] or finding["next_step"] != group["finding"]["next_step"]:
        yield say(f"What to do: {shown(finding['next_step'])}", indent=4)


def _in_line(evidence: Mapping[str, str | float | int | bool | None], now: float) -> str:
    return ", ".join(f"{label} {said}" for label, said, _ in evidence_words(evidence, now, _number))


def _history(group: Answer, *, everything: bool) -> Iterator[Block]:
    changes, happened = group["verdicts"] or [], group["transitions"] or []
    if changes:
        yield _latest("Its verdicts", changes, None if everything else CHANGES, verdicts_table)
    if happened:
        yield _latest("What happened to it", happened, None if everything else TRANSITIONS, transitions_table)


def _latest(
    title: str, rows: Sequence[Answer], limit: int | None, table: Callable[[Sequence[Answer]], TextTable]
) -> Block:
    kept = rows if limit is None else rows[-limit:]
    note = "" if len(kept) == len(rows) else f", the latest {len(kept)} of {len(rows)}"
    return Block([Sentence([Span(title, "bold"), Span(f"{note}, the oldest first", "dim")])], table(kept))


def _words(word: str) -> str:
    return shown(word).replace("_", " ")


def _number(value: int) -> str:
    return f"{value:,}"


def _count(value: int | None, noun: str) -> str:
    """Say how many there are, in the words of a terminal; not known is said so."""
    if value is None:
        return f"an unknown number of {noun}s"
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def _since(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    return "" if then is None else f" for {duration(max(now - then, 0.0))}"


def _ago(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    return "at a time that is not known" if then is None else f"{duration(max(now - then, 0.0))} ago"


def _ahead(moment: str, now: float) -> str:
    then = unix_time(moment) or now
    return f"in {duration(then - now)}" if then > now else "at the broker's next look"
