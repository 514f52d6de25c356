"""Groups as tables: the columns that people know from `kafka-consumer-groups`, and what only the log tells.

Cells have no blanks but where names have: a script may cut a line at them. `-` stands for what is not known or is not
there, as in Kafka's tool. Ages and times to go count from `now`, Unix seconds.

Source of the columns: ConsumerGroupCommand of Kafka 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from stream.cli.group_source import age, format_time_lag, time_left
from stream.cli.render.tables import TableColumn, TextTable, display_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream.cli.group_source import Answer

# Columns whose cells stand at the right edge.
_NUMBERS: Final = frozenset((
    "MEMBERS", "PARTITIONS", "LAG", "LAG-UNKNOWN", "LAST-COMMIT", "EXPIRES", "PARTITION", "CURRENT-OFFSET",
    "LOG-END-OFFSET", "COMMIT-AGE", "FOR", "#PARTITIONS", "#MEMBERS", "CURRENT-EPOCH", "GENERATION", "GROUP-EPOCH",
    "TARGET-ASSIGNMENT-EPOCH", "GROUP-EXPIRES", "GREATEST-LAG", "TIME-LAG",
    "PROGRESS-AGE", "COMMITTED", "END",
))  # fmt: skip
_NOBODY: Final[Answer] = {"member_id": None, "client_host": None, "client_id": None}


def groups_table(groups: Sequence[Answer], now: float) -> TextTable:
    """Show all groups, a row each; why a group died only if one of them has."""
    heads = ["GROUP", "KIND", "STATE", "MEMBERS", "PARTITIONS", "LAG", "LAG-UNKNOWN", "LAST-COMMIT", "EXPIRES"]
    deaths = any(group["state"] == "Dead" for group in groups)
    return _table(
        [*heads, "DEATH-CAUSE"] if deaths else heads,
        (
            [
                display_text(group["group"]),
                *map(_cell, (group["kind"], group["state"], group["members"], group["partitions"], group["lag_sum"])),
                _cell(group["partitions_lag_unknown"]),
                age(group["last_commit_time"], now),
                time_left(group["first_offset_expiry_time"], now),
                *([_word(group["death_cause"])] if deaths else []),
            ]
            for group in groups
        ),
    )


def offsets_table(group: Answer, now: float) -> TextTable:
    """Show where the group stands: the partitions of each member, then those with an offset that nobody owns."""
    heads = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID COMMIT-AGE EXPIRES"
    committed = {(row["topic"], row["partition"]): row for row in group["by_partition"]}
    owned = [
        (member, (topic, partition))
        for member in group["by_member"] or ()
        for topic, partitions in sorted(member["assignment"].items())
        for partition in sorted(partitions)
        if partition >= 0  # Connect's tasks: they are no partitions of a topic
    ]
    taken = {place for _, place in owned}
    left: list[tuple[Answer, tuple[str, int]]] = [(_NOBODY, place) for place in committed if place not in taken]
    rows = (_offset_row(group["group"], place, committed.get(place, {}), member, now) for member, place in owned + left)
    return _table(heads.split(), rows)


def _offset_row(group: str, place: tuple[str, int], row: Answer, member: Answer, now: float) -> list[str]:
    return [
        display_text(group),
        display_text(place[0]),
        str(place[1]),
        *(_cell(row.get(name)) for name in ("committed_offset", "high_watermark", "lag")),
        *(_name(member[name]) for name in ("member_id", "client_host", "client_id")),
        age(row.get("commit_time"), now),
        time_left(row.get("offset_expiry_time"), now),
    ]


def members_table(group: Answer, *, verbose: bool) -> TextTable:
    """Show who is in the group; the column of static ids only if there is one. A member that is away is marked."""
    members = group["by_member"] or ()
    static = any(member["instance_id"] is not None for member in members)
    heads = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    more = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "MEMBER-STATE", "SUBSCRIPTION", "ASSIGNOR"]
    return _table(
        [*heads, *more] if verbose else heads,
        (
            [
                display_text(group["group"]),
                display_text(member["member_id"]),
                *([_name(member["instance_id"])] if static else []),
                *(_name(member[name]) for name in ("client_host", "client_id")),
                str(sum(map(len, member["assignment"].values()))),
                *(_verbose(member) if verbose else []),
            ]
            for member in members
        ),
    )


def _verbose(member: Answer) -> list[str]:
    wanted = [
        *map(display_text, member["subscription"]),
        *([f"/{display_text(member['regex'])}/"] if member["regex"] else []),
    ]
    return [
        _cell(member["epoch"]),
        _assignment(member["assignment"]) or "-",
        "away" if member["away"] else _word(member["state"]),
        ",".join(wanted) or "-",
        _name(member["assignor"]),
    ]


def state_table(group: Answer, now: float) -> TextTable:
    """Show the group's state, where it is known from, since when, and its epochs."""
    heads = "GROUP KIND ASSIGNMENT-STRATEGY STATE SOURCE FOR GENERATION GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH #MEMBERS"
    row = [
        display_text(group["group"]),
        _cell(group["kind"]),
        _name(group["protocol"]),
        _cell(group["state"]),
        "-" if group["state"] is None else "asked" if group["state_asked"] else "log",
        age(group["state_since"], now),
        *(_cell(group[name]) for name in ("generation", "group_epoch", "assignment_epoch", "members")),
        time_left(group["group_expiry_time"], now),
        _word(group["death_cause"]),
    ]
    return _table([*heads.split(), "GROUP-EXPIRES", "DEATH-CAUSE"], [row])


def transitions_table(transitions: Iterable[Answer]) -> TextTable:
    """Show what happened, the oldest first; SEEN tells whether the monitor was there or read of it later."""
    rows = (
        [
            each["time"].replace("T", " ").removesuffix("Z"),
            each["transition"],
            _word(each["cause"]),
            "live" if each["live"] else "replayed",
            display_text(each["text"]),
        ]
        for each in transitions
    )
    return _table(("TIME (UTC)", "WHAT", "CAUSE", "SEEN", "STORY"), rows)


def verdicts_table(changes: Iterable[Answer]) -> TextTable:
    """Show how the verdict changed, the oldest first; what it was said to be then stands beside."""
    rows = (
        [
            each["time"].replace("T", " ").removesuffix("Z"),
            _verdict(each["before"]),
            _verdict(each["verdict"]),
            display_text(each["sentence"]),
        ]
        for each in changes
    )
    return _table(("TIME (UTC)", "WAS", "IS", "STORY"), rows)


def findings_table(findings: Iterable[Answer], group: Answer, now: float) -> TextTable:
    """Show the partitions that are not fine, whose they are, and the numbers that matter most, as many as fit."""
    heads = "TOPIC PARTITION VERDICT FOR LAG TIME-LAG OWNER COMMITTED END COMMIT-AGE PROGRESS-AGE"
    known = {(row["topic"], row["partition"]): row for row in group["by_partition"]}
    owners = _owners(group)
    rows = ((each, known.get((each["topic"], each["partition"]), {})) for each in findings)
    return _table(
        heads.split(),
        (
            [
                display_text(each["topic"]),
                str(each["partition"]),
                _verdict(each["verdict"]),
                age(each["since"], now),
                _cell(row.get("lag")),
                format_time_lag(row.get("time_lag"), exact=row.get("time_lag_exact")),
                _name(owners.get((each["topic"], each["partition"]))),
                *(_cell(row.get(name)) for name in ("committed_offset", "high_watermark")),
                *(age(row.get(name), now) for name in ("commit_time", "progress_time")),
            ]
            for each, row in rows
        ),
        spare=("LAG", "TIME-LAG", "OWNER", "COMMITTED", "END", "COMMIT-AGE", "PROGRESS-AGE"),
    )


def _owners(group: Answer) -> dict[tuple[str, int], str]:
    """Give whose log to look into, by topic and partition: the client's name (else the member's), and where it runs."""
    return {
        (topic, partition): f"{member['client_id'] or member['member_id']}{_host(member['client_host'])}"
        for member in group["by_member"] or ()
        for topic, partitions in member["assignment"].items()
        for partition in partitions
    }


def _host(host: str | None) -> str:
    """Write a host behind a client; Java puts a slash before an address that has no name."""
    return f"@{host.removeprefix('/')}" if host else ""


def topics_table(topics: Iterable[Answer]) -> TextTable:
    """Show where the group stands in each topic."""
    rows = (
        [
            display_text(each["topic"]),
            _verdict(each["verdict"]),
            *map(_cell, (each["partitions"], each["lag_sum"], each["lag_max"])),
            format_time_lag(each["time_lag_max"], exact=each["time_lag_max_exact"]),
            _cell(each["partitions_lag_unknown"]),
        ]
        for each in topics
    )
    heads = ["TOPIC", "VERDICT", "PARTITIONS", "LAG", "GREATEST-LAG", "TIME-LAG", "LAG-UNKNOWN"]
    return _table(heads, rows, spare=("GREATEST-LAG", "TIME-LAG", "LAG-UNKNOWN"))


def _table(heads: Sequence[str], rows: Iterable[list[str]], spare: Sequence[str] = ()) -> TextTable:
    return TextTable([TableColumn(head, right=head in _NUMBERS, spare=head in spare) for head in heads], list(rows))


def _cell(value: Any) -> str:
    return "-" if value is None else display_text(str(value))


def _name(value: str | None) -> str:
    return "-" if value is None else display_text(value)


def _word(value: str | None) -> str:
    return "-" if value is None else display_text(value.replace(" ", "-"))


def _verdict(word: str | None) -> str:
    """Write a verdict as one word, as the API has it: `falling_behind`."""
    return "-" if word is None else display_text(word)


def _assignment(assignment: dict[str, list[int]]) -> str:
    """Write an assignment as Kafka's tool does: `topic:0,1;topic2:3`."""
    parts = (
        f"{display_text(topic)}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in sorted(assignment.items())
    )
    return ";".join(parts)
