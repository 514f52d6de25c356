"""Explains one group as text: verdict, sentence, next step, evidence, state, partitions and history.

The input is the answer of the API for one group (`stream.cli.group_source.Answer`), the output are blocks of text.
Verdicts, their sentences and next steps are written by `stream.health`. Pure; `now` is Unix seconds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from exporters.wording import FINE, duration, evidence_words, number, phrase, unix_time
from stream.cli.group_source import Answer
from stream.cli.render.group_tables import (
    findings_table,
    share_findings_table,
    topics_table,
    transitions_table,
    verdicts_table,
)
from stream.cli.render.tables import COLOURS, Sentence, TextBlock, TextTable, display_text, plain_sentence
from stream.wording import count

_SHARE: Final = "share"
_FINDINGS_LIMIT: Final = 200
"""The number of partitions in an answer is limited (`exporters.readmodel.GroupDetail`)."""
FINDINGS: Final = 10
"""The number of partitions that are printed without `--all`."""
CHANGES: Final = 10
"""The number of verdict changes that are printed without `--all`."""
TRANSITIONS: Final = 5
"""The number of transitions that are printed without `--all`."""


def explain(group: Answer, now: float, *, everything: bool = False) -> list[TextBlock]:
    """Return the explanation of a group, whether or not it is healthy; `everything` lifts the limits on lists."""
    finding, several = group["finding"], len(group["by_topic"]) > 1
    reason = finding["sentence"] if finding else group["sentence"]
    step = [("What to do: ", "bold"), (display_text(finding["next_step"]), "")] if finding else []
    blocks = [
        TextBlock([_headline(group, now), *([plain_sentence(display_text(reason))] if reason else [])]),
        TextBlock([Sentence(step)] if step else []),
        TextBlock(_evidence(group, now)),
        TextBlock(list(_state(group, now))),
        *_partitions(group, now, everything=everything),
        *([TextBlock([plain_sentence("By topic", "bold")], topics_table(group["by_topic"]))] if several else []),
        *_latest("Verdicts", group["verdicts"], None if everything else CHANGES, verdicts_table),
        *_latest("History", group["transitions"], None if everything else TRANSITIONS, transitions_table),
    ]
    return [block for block in blocks if block.sentences or block.table]


def _headline(group: Answer, now: float) -> Sentence:
    name = (display_text(group["group"]), "bold")
    if group["state"] == "Dead":
        cause = group["death_cause"] or "the cause is not known"
        return Sentence([name, (f" is dead: {display_text(cause)}, {_ago(group['died_time'], now)}.", "")])
    if group["verdict"] is None:
        return Sentence([name, (" has no verdict yet.", "")])
    colour = COLOURS.get(group["severity"], "")
    # A busy group alternates between the fine verdicts, and its history does not have these changes.
    since = "" if group["severity"] == FINE else _since(group["verdict_since"], now)
    verdict, severity = phrase(group["verdict"]), display_text(group["severity"])
    shown = verdict if severity in {FINE, verdict} else f"{verdict} ({severity})"
    return Sentence([name, (": ", ""), (shown, colour), (f"{since}.", "")])


def _evidence(group: Answer, now: float) -> list[Sentence]:
    finding = group["finding"]
    if not finding or not finding["evidence"]:
        return []
    rows = list(evidence_words(finding["evidence"], now))
    width = max(len(label) for label, _, _ in rows)
    return [
        plain_sentence("The numbers behind it", "bold"),
        *(Sentence([(f"{label:<{width}}  ", "dim"), (value, "")], 2) for label, value, _ in rows),
    ]


def _state(group: Answer, now: float) -> Iterator[Sentence]:
    """Yield a sentence for each of kind and state, members, lag, expiration, and what is unusual."""
    yield plain_sentence("The group", "bold")
    state = display_text(group["state"] or "in an unknown state")
    source = " (reported by the coordinator)" if group["state_described"] else ""
    kind = f"A {display_text(group['kind'])} group" if group["kind"] else "A group of unknown kind"
    protocol = f" ({display_text(group['protocol'])})" if group["protocol"] else ""
    yield plain_sentence(f"{kind}{protocol}, {state}{source}{_since(group['state_since'], now)}.", indent=2)
    if group["state"] == "Dead":
        return
    yield from (plain_sentence(sentence, indent=2) for sentence in _progress(group, now))
    for reason in _muted(group):
        yield plain_sentence(f"No alert about it fires: {reason}.", "yellow", 2)
    if group["held_back"]:
        hidden = "An open transaction hides its latest commits: they are read behind the last stable offset."
        yield plain_sentence(hidden, "yellow", 2)
    if group.get("odd_times"):
        problem = "cannot be right (in the future, before 1970 or after the year 9999)"
        yield plain_sentence(f"{_count(group['odd_times'], 'time')} in its records {problem}.", "yellow", 2)
    if group["unowned"]:
        yield plain_sentence(f"No member owns {', '.join(map(display_text, group['unowned']))}.", "yellow", 2)
    if group["unsubscribed"]:
        topics = ", ".join(map(display_text, group["unsubscribed"]))
        yield plain_sentence(f"No member subscribes to {topics}.", "yellow", 2)
    if group["lag_sum"]:
        for quota in group.get("quotas") or ():
            yield plain_sentence(display_text(quota["sentence"]), "yellow", 2)
    for reason, partitions in group["unknown_lags"].items():
        yield plain_sentence(f"Lag of {_count(partitions, 'partition')} not known: {phrase(reason)}.", "yellow", 2)


def _progress(group: Answer, now: float) -> Iterator[str]:
    """Yield the sentences about members, lag and expiration; a share group has no commits, and no offset expires."""
    partitions = _count(group["partitions"], "partition")
    if group["kind"] == _SHARE:
        yield f"{_members(group)}; {partitions} with a start offset."
        yield f"{_lag(group, 'All records are finished', 'record', 'not finished')}."
        return
    yield f"{_members(group)}; {partitions} with offsets."
    lag = f"{_lag(group, 'Nothing is unread', 'offset', 'unread')}{_time_lag(group)}"
    yield f"{lag}; last commit {_ago(group['last_commit_time'], now)}."
    yield _expiration(group, now)


def _muted(group: Answer) -> Iterator[str]:
    """Yield each reason why no alert about the group fires. An instance of an earlier version lacks the fields."""
    if group.get("maintenance_until"):
        yield f"in maintenance until {display_text(group['maintenance_until'])}"
    if group.get("silence_reason"):
        end = f" until {display_text(group['silence_until'])}" if group["silence_until"] else ""
        yield f"silenced{end} ({display_text(group['silence_reason'])})"
    if group.get("not_alerted"):
        yield "the fault is older than lagwarden, or the group was silent for long (health.day_one)"


def _members(group: Answer) -> str:
    members = group["members"]
    if members is None:
        return "Its members are not known"
    inactive = [f"{group[f'members_{how}']} {how}" for how in ("idle", "away") if group[f"members_{how}"]]
    text = _count(members, "member") if members else "No members"
    return f"{text} ({', '.join(inactive)})" if inactive else text


def _lag(group: Answer, nothing: str, noun: str, state: str) -> str:
    """Return the lag in words: `nothing` if it is 0, else a number with the noun and its state."""
    if group["lag_sum"] is None:
        return "Lag not known"
    if not group["lag_sum"]:
        return nothing + (" where the lag is known" if group["partitions_lag_unknown"] else "")
    return f"{_count(group['lag_sum'], noun)} {state}, {number(group['lag_max'])} at most in a partition"


def _time_lag(group: Answer) -> str:
    if not group["lag_sum"] or group["time_lag_max"] is None:
        return ""
    bound = "at least " if group["time_lag_max_exact"] is False else ""
    return f", the oldest unread record waits for {bound}{duration(group['time_lag_max'])}"


def _expiration(group: Answer, now: float) -> str:
    first, whole = group["first_offset_expiry_time"], group["group_expiry_time"]
    if first is None and whole is None:
        return "No offset is about to expire."
    named = (("the first offset expires", first), ("the group", whole))
    text = ", ".join(f"{what} {_ahead(then, now)}" for what, then in named if then is not None)
    return f"{text[0].upper()}{text[1:]}."


def _partitions(group: Answer, now: float, *, everything: bool) -> Iterator[TextBlock]:
    """Yield the numbers of the partitions that are not fine, then the sentences that the group's own does not cover."""
    found: Sequence[Answer] = group["findings"] or ()
    if not found:
        return
    kept = found if everything else found[:FINDINGS]
    title = f"Partitions that are not fine: {_found_count(len(found), group['partitions'])}"
    more = f", the worst {len(kept)}; --all prints all" if len(kept) < len(found) else ""
    table = share_findings_table if group["kind"] == _SHARE else findings_table
    yield TextBlock([Sentence([(title, "bold"), (more, "dim")])], table(kept, group, now))
    explained = found if everything else _worst_per_verdict(found, group["verdict"])
    if lines := [line for finding in explained for line in _finding(finding, group, now)]:
        yield TextBlock(lines)


def _worst_per_verdict(found: Sequence[Answer], verdict: str | None) -> list[Answer]:
    """Return the worst partition of each verdict except the group's, whose sentence is that of the group."""
    worst: dict[str, Answer] = {}
    for finding in found:
        worst.setdefault(finding["verdict"], finding)
    return [finding for word, finding in worst.items() if word != verdict]


def _found_count(found: int, partitions: int | None) -> str:
    """Return the number of findings, with the number of partitions with offsets where it includes them.

    An answer holds at most 200 findings, and partitions without a commit are among them.
    """
    if found >= _FINDINGS_LIMIT:
        return f"the worst {found}"
    return f"{found}" if partitions is None or partitions < found else f"{found} of {number(partitions)}"


def _finding(finding: Answer, group: Answer, now: float) -> Iterator[Sentence]:
    place = f"{display_text(finding['topic'])}-{finding['partition']}"
    colour = COLOURS.get(finding["severity"], "")
    since = _since(finding["since"], now)
    verdict = (phrase(finding["verdict"]), colour)
    yield Sentence([(f"{place}: ", ""), verdict, (f"{since}. {display_text(finding['sentence'])}", "")], 2)
    if finding["evidence"]:
        words = evidence_words(finding["evidence"], now)
        yield plain_sentence(", ".join(f"{label} {value}" for label, value, _ in words), "dim", 4)
    if not group["finding"] or finding["next_step"] != group["finding"]["next_step"]:
        yield plain_sentence(f"What to do: {display_text(finding['next_step'])}", indent=4)


def _latest(
    title: str, rows: Sequence[Answer] | None, limit: int | None, table: Callable[[Sequence[Answer]], TextTable]
) -> Iterator[TextBlock]:
    if rows:
        kept = rows if limit is None else rows[-limit:]
        note = "" if len(kept) == len(rows) else f", the latest {len(kept)} of {len(rows)}"
        yield TextBlock([Sentence([(title, "bold"), (f"{note}, the oldest first", "dim")])], table(kept))


def _count(value: int | None, noun: str) -> str:
    """Return a number with its noun; None is an unknown number."""
    return f"an unknown number of {noun}s" if value is None else count(value, noun)


def _since(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    return "" if then is None else f" for {duration(max(now - then, 0.0))}"


def _ago(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    return "at an unknown time" if then is None else f"{duration(max(now - then, 0.0))} ago"


def _ahead(moment: str, now: float) -> str:
    then = unix_time(moment) or now
    return f"in {duration(then - now)}" if then > now else "at the broker's next check"
