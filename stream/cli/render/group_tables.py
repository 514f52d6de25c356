"""Groups as tables: the columns of `kafka-consumer-groups`, and those that only the log can fill.

Columns are at least two blanks apart, and only names and sentences can have two in a row, so a script can split a line
at them; scripts had better read `--json`. `-` is an unknown or absent value, as in Kafka's tool. Ages and remaining
times are relative to `now`, Unix seconds.

Source of the columns: ConsumerGroupCommand of Kafka 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from stream.cli.group_source import age, format_time_lag, time_left, unix_time
from stream.cli.render.tables import TableColumn, TextTable, display_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream.cli.group_source import Answer

# Columns that are right-aligned.
_NUMBERS: Final = frozenset((
    "MEMBERS", "PARTITIONS", "LAG", "LAG-UNKNOWN", "LAST-COMMIT", "EXPIRES", "PARTITION", "CURRENT-OFFSET",
    "LOG-END-OFFSET", "COMMIT-AGE", "FOR", "#PARTITIONS", "#MEMBERS", "CURRENT-EPOCH", "GENERATION", "GROUP-EPOCH",
    "TARGET-ASSIGNMENT-EPOCH", "GROUP-EXPIRES", "GREATEST-LAG", "TIME-LAG",
    "PROGRESS-AGE", "COMMITTED", "END", "START-OFFSET", "FINISHED", "RETURNED", "MOST-DELIVERIES",
))  # fmt: skip
_LESS_IMPORTANT_OF_GROUPS: Final = (
    "SEVERITY", "TIME-LAG", "MEMBERS", "STATE", "LAST-COMMIT", "PARTITIONS", "EXPIRES", "DEATH-CAUSE", "KIND",
    "LAG-UNKNOWN",
)  # fmt: skip
"""Columns that a narrow terminal drops, the last first."""
_LESS_IMPORTANT_OF_OFFSETS: Final = (
    "CLIENT-ID", "COMMIT-AGE", "CURRENT-OFFSET", "LOG-END-OFFSET", "HOST", "EXPIRES", "GROUP", "CONSUMER-ID",
)  # fmt: skip
_LESS_IMPORTANT_OF_MEMBERS: Final = (
    "#PARTITIONS", "HOST", "CURRENT-ASSIGNMENT", "CLIENT-ID", "MEMBER-STATE", "SUBSCRIPTION", "CURRENT-EPOCH",
    "ASSIGNOR", "GROUP-INSTANCE-ID", "GROUP",
)  # fmt: skip
_LESS_IMPORTANT_OF_STATE: Final = (
    "STATE", "FOR", "#MEMBERS", "KIND", "GENERATION", "GROUP-EXPIRES", "ASSIGNMENT-STRATEGY", "DEATH-CAUSE",
    "GROUP-EPOCH", "SOURCE", "TARGET-ASSIGNMENT-EPOCH",
)  # fmt: skip
_NO_MEMBER: Final[Answer] = {"member_id": None, "client_host": None, "client_id": None}


def groups_table(groups: Sequence[Answer], now: float) -> TextTable:
    """Return a row per group. Columns without any value are left out: verdicts (of a capture), and causes of deaths.

    A narrow terminal keeps group, verdict and lag the longest.
    """
    judged = any(group.get("severity") for group in groups)
    deaths = any(group["state"] == "Dead" for group in groups)
    heads = [
        "GROUP",
        *(["SEVERITY", "VERDICT"] if judged else []),
        *("KIND", "STATE", "MEMBERS", "PARTITIONS", "LAG"),
        *(["TIME-LAG"] if judged else []),
        *("LAG-UNKNOWN", "LAST-COMMIT", "EXPIRES"),
        *(["DEATH-CAUSE"] if deaths else []),
    ]
    return _table(
        heads,
        (
            [
                display_text(group["group"]),
                *((_cell(group["severity"]), _verdict(group["verdict"])) if judged else ()),
                *map(_cell, (group["kind"], group["state"], group["members"], group["partitions"], group["lag_sum"])),
                *([format_time_lag(group["time_lag_max"], exact=group["time_lag_max_exact"])] if judged else ()),
                _cell(group["partitions_lag_unknown"]),
                age(group["last_commit_time"], now),
                time_left(group["first_offset_expiry_time"], now),
                *([_word(group["death_cause"])] if deaths else []),
            ]
            for group in groups
        ),
        spare=_LESS_IMPORTANT_OF_GROUPS,
    )


def common_cause_lines(causes: Sequence[Answer]) -> list[str]:
    """Return a line per common cause of unhealthy groups."""
    return [f"common cause: {display_text(cause['sentence'])}" for cause in causes]


def offsets_table(group: Answer, now: float) -> TextTable:
    """Return a row per partition: those of each member, then those with an offset and without an owner."""
    heads = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID COMMIT-AGE EXPIRES"
    committed = {(row["topic"], row["partition"]): row for row in group["by_partition"]}
    owned = [
        (member, (topic, partition))
        for member in group["by_member"] or ()
        for topic, partitions in sorted(member["assignment"].items())
        for partition in sorted(partitions)
        if partition >= 0  # tasks of Connect have negative numbers
    ]
    owned_places = {place for _, place in owned}
    unowned: list[tuple[Answer, tuple[str, int]]] = [
        (_NO_MEMBER, place) for place in committed if place not in owned_places
    ]
    rows = (
        _offset_row(group["group"], place, committed.get(place, {}), member, now) for member, place in owned + unowned
    )
    return _table(heads.split(), rows, spare=_LESS_IMPORTANT_OF_OFFSETS)


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


def share_offsets_table(group: Answer) -> TextTable:
    """Return a row per partition of a share group: the columns of `kafka-share-groups --describe --offsets`, and more.

    Source of the first five: ShareGroupCommand of Kafka 4.3.
    """
    heads = "GROUP TOPIC PARTITION START-OFFSET LAG LOG-END-OFFSET FINISHED RETURNED MOST-DELIVERIES VERDICT"
    names = ("start_offset", "lag", "end", "finished", "returned", "most_deliveries")
    rows = (
        [
            *(display_text(each) for each in (group["group"], row["topic"])),
            str(row["partition"]),
            *(_cell(row[name]) for name in names),
            _verdict(row["verdict"]),
        ]
        for row in group.get("by_share_partition") or ()  # an instance of an earlier version lacks the field
    )
    return _table(heads.split(), rows)


def members_table(group: Answer, *, verbose: bool) -> TextTable:
    """Return a row per member. The column of static ids exists only if a member has one. An absent member is `away`."""
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
        spare=_LESS_IMPORTANT_OF_MEMBERS,
    )


def _verbose(member: Answer) -> list[str]:
    subscription = [
        *map(display_text, member["subscription"]),
        *([f"/{display_text(member['regex'])}/"] if member["regex"] else []),
    ]
    return [
        _cell(member["epoch"]),
        _assignment(member["assignment"]) or "-",
        "away" if member["away"] else _word(member["state"]),
        ",".join(subscription) or "-",
        _name(member["assignor"]),
    ]


def state_table(group: Answer, now: float) -> TextTable:
    """Return one row: state, its source (`log`, or `asked` if the coordinator reported it), its age, and epochs."""
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
    return _table([*heads.split(), "GROUP-EXPIRES", "DEATH-CAUSE"], [row], spare=_LESS_IMPORTANT_OF_STATE)


def transitions_table(transitions: Iterable[Answer]) -> TextTable:
    """Return a row per transition, the oldest first.

    SEEN is `replayed` if the record was in the topic before the checkpoint was created, else `live`.
    """
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
    return _table(("TIME (UTC)", "WHAT", "CAUSE", "SEEN", "STORY"), rows, spare=("CAUSE", "SEEN"))


def history_table(transitions: Iterable[Answer], changes: Iterable[Answer]) -> TextTable:
    """Return a row per transition and per change of the verdict, the oldest first, as `transitions_table`."""
    verdicts = (
        each
        | {"transition": f"verdict {_verdict(each['verdict'])}", "cause": None, "live": True, "text": each["sentence"]}
        for each in changes
    )
    return transitions_table(sorted([*transitions, *verdicts], key=lambda each: unix_time(each["time"]) or 0.0))


def verdicts_table(changes: Iterable[Answer]) -> TextTable:
    """Return a row per change of the verdict, the oldest first, with the sentence of that time."""
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
    """Return a row per partition that is not fine, with owner and offsets; most columns are spare."""
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


def share_findings_table(findings: Iterable[Answer], group: Answer, now: float) -> TextTable:
    """Return a row per partition of a share group that is not fine, with its progress."""
    heads = "TOPIC PARTITION VERDICT FOR LAG START-OFFSET END FINISHED RETURNED MOST-DELIVERIES"
    known = {(row["topic"], row["partition"]): row for row in group.get("by_share_partition") or ()}
    names = ("lag", "start_offset", "end", "finished", "returned", "most_deliveries")
    rows = (
        [
            display_text(each["topic"]),
            str(each["partition"]),
            _verdict(each["verdict"]),
            age(each["since"], now),
            *map(_cell, map((known.get((each["topic"], each["partition"])) or each["evidence"]).get, names)),
        ]
        for each in findings
    )
    return _table(heads.split(), rows, spare=("END", "FINISHED", "RETURNED", "MOST-DELIVERIES"))


def _owners(group: Answer) -> dict[tuple[str, int], str]:
    """Return the owner by topic and partition: client id, or member id if there is none, and host."""
    return {
        (topic, partition): f"{member['client_id'] or member['member_id']}{_host(member['client_host'])}"
        for member in group["by_member"] or ()
        for topic, partitions in member["assignment"].items()
        for partition in partitions
    }


def _host(host: str | None) -> str:
    """Return a host as suffix of a client id; Java puts a slash before an address without a name."""
    return f"@{host.removeprefix('/')}" if host else ""


def topics_table(topics: Iterable[Answer]) -> TextTable:
    """Return a row per topic."""
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
    """Return a table. `spare` are the columns that a narrow terminal drops, the last first."""
    ranks = {head: rank for rank, head in enumerate(spare, start=1)}
    return TextTable(
        [TableColumn(head, right=head in _NUMBERS, spare=ranks.get(head, 0)) for head in heads], list(rows)
    )


def _cell(value: Any) -> str:
    return "-" if value is None else display_text(str(value))


def _name(value: str | None) -> str:
    return "-" if value is None else display_text(value)


def _word(value: str | None) -> str:
    return "-" if value is None else display_text(value.replace(" ", "-"))


def _verdict(word: str | None) -> str:
    """Return a verdict as on the pages: `falling behind`."""
    return "-" if word is None else display_text(word).replace("_", " ")


def _assignment(assignment: dict[str, list[int]]) -> str:
    """Return an assignment as Kafka's tool prints it: `topic:0,1;topic2:3`."""
    parts = (
        f"{display_text(topic)}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in sorted(assignment.items())
    )
    return ";".join(parts)
