"""Groups as tables: the columns of `kafka-consumer-groups`, and those that only the log can fill.

Columns are at least two blanks apart, and only names and sentences can have two in a row, so a script can split a line
at them; scripts had better read `--json`. `-` is an unknown or absent value, as in Kafka's tool. Ages and remaining
times are relative to `now`, Unix seconds.

Source of the columns: ConsumerGroupCommand of Kafka 4.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from exporters.wording import unix_time
from stream.cli.group_source import Answer, age, format_time_lag, time_left
from stream.cli.render.tables import TableColumn, TextTable, display_text

# Columns that are right-aligned.
_NUMBERS: Final = frozenset((
    "MEMBERS", "PARTITIONS", "LAG", "LAG-UNKNOWN", "LAST-COMMIT", "EXPIRES", "PARTITION", "CURRENT-OFFSET",
    "LOG-END-OFFSET", "COMMIT-AGE", "FOR", "#PARTITIONS", "#MEMBERS", "CURRENT-EPOCH", "GENERATION", "GROUP-EPOCH",
    "TARGET-ASSIGNMENT-EPOCH", "GROUP-EXPIRES", "GREATEST-LAG", "TIME-LAG",
    "PROGRESS-AGE", "COMMITTED", "END", "START-OFFSET", "FINISHED", "RETURNED", "MOST-DELIVERIES",
))  # fmt: skip
_NO_MEMBER: Final[Answer] = {"member_id": None, "client_host": None, "client_id": None}


def groups_table(groups: Sequence[Answer], now: float) -> TextTable:
    """Return a row per group. Columns without any value are left out: verdicts (of a capture), and causes of deaths.

    A narrow terminal keeps group, verdict and lag the longest.
    """
    columns = (
        "GROUP SEVERITY~1 VERDICT KIND~9 STATE~4 MEMBERS~3 PARTITIONS~6 LAG TIME-LAG~2 LAG-UNKNOWN~10 LAST-COMMIT~5"
        " EXPIRES~7 DEATH-CAUSE~8"
    )
    rows = (
        [
            *map(_cell, (group["group"], group.get("severity"), _words(group.get("verdict")))),
            *map(_cell, (group["kind"], group["state"], group["members"], group["partitions"], group["lag_sum"])),
            format_time_lag(group["time_lag_max"], exact=group["time_lag_max_exact"]),
            _cell(group["partitions_lag_unknown"]),
            age(group["last_commit_time"], now),
            time_left(group["first_offset_expiry_time"], now),
            _word(group["death_cause"]),
        ]
        for group in groups
    )
    unused = set() if any(group.get("severity") for group in groups) else {"SEVERITY", "VERDICT", "TIME-LAG"}
    unused |= set() if any(group["state"] == "Dead" for group in groups) else {"DEATH-CAUSE"}
    return _table(columns, rows, unused)


def common_cause_lines(causes: Sequence[Answer]) -> list[str]:
    """Return a line per common cause of unhealthy groups."""
    return [f"common cause: {display_text(cause['sentence'])}" for cause in causes]


def offsets_table(group: Answer, now: float) -> TextTable:
    """Return a row per partition: those of each member, then those with an offset and without an owner."""
    columns = (
        "GROUP~7 TOPIC PARTITION CURRENT-OFFSET~3 LOG-END-OFFSET~4 LAG CONSUMER-ID~8 HOST~5 CLIENT-ID~1 COMMIT-AGE~2"
        " EXPIRES~6"
    )
    committed = {(row["topic"], row["partition"]): row for row in group["by_partition"]}
    owned = [
        (member, (topic, partition))
        for member in group["by_member"] or ()
        for topic, partitions in sorted(member["assignment"].items())
        for partition in sorted(partitions)
        if partition >= 0  # tasks of Connect have negative numbers
    ]
    owned_places = {place for _, place in owned}
    places = [*owned, *((_NO_MEMBER, place) for place in committed if place not in owned_places)]
    rows = (
        [
            *map(_cell, (group["group"], *place)),
            *(_cell(row.get(name)) for name in ("committed_offset", "high_watermark", "lag")),
            *(_cell(member[name]) for name in ("member_id", "client_host", "client_id")),
            age(row.get("commit_time"), now),
            time_left(row.get("offset_expiry_time"), now),
        ]
        for member, place in places
        for row in [committed.get(place, {})]
    )
    return _table(columns, rows)


def share_offsets_table(group: Answer) -> TextTable:
    """Return a row per partition of a share group: the columns of `kafka-share-groups --describe --offsets`, and more.

    Source of the first five: ShareGroupCommand of Kafka 4.3.
    """
    columns = "GROUP TOPIC PARTITION START-OFFSET LAG LOG-END-OFFSET FINISHED RETURNED MOST-DELIVERIES VERDICT"
    names = ("topic", "partition", "start_offset", "lag", "end", "finished", "returned", "most_deliveries")
    rows = (
        [_cell(group["group"]), *(_cell(row[name]) for name in names), _cell(_words(row["verdict"]))]
        for row in group.get("by_share_partition") or ()  # an instance of an earlier version lacks the field
    )
    return _table(columns, rows)


def members_table(group: Answer, *, verbose: bool) -> TextTable:
    """Return a row per member. The column of static ids exists only if a member has one. An absent member is `away`."""
    columns = (
        "GROUP~10 CONSUMER-ID GROUP-INSTANCE-ID~9 HOST~2 CLIENT-ID~4 #PARTITIONS~1 CURRENT-EPOCH~7"
        " CURRENT-ASSIGNMENT~3 MEMBER-STATE~5 SUBSCRIPTION~6 ASSIGNOR~8"
    )
    members = group["by_member"] or ()
    rows = (
        [
            _cell(group["group"]),
            *(_cell(member[name]) for name in ("member_id", "instance_id", "client_host", "client_id")),
            str(sum(map(len, member["assignment"].values()))),
            _cell(member["epoch"]),
            _assignment(member["assignment"]) or "-",
            "away" if member["away"] else _word(member["state"]),
            _subscription(member) or "-",
            _cell(member["assignor"]),
        ]
        for member in members
    )
    unused = set() if any(member["instance_id"] is not None for member in members) else {"GROUP-INSTANCE-ID"}
    more = {"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "MEMBER-STATE", "SUBSCRIPTION", "ASSIGNOR"}
    return _table(columns, rows, unused if verbose else unused | more)


def _subscription(member: Answer) -> str:
    topics = map(display_text, member["subscription"])
    return ",".join([*topics, *([f"/{display_text(member['regex'])}/"] if member["regex"] else [])])


def state_table(group: Answer, now: float) -> TextTable:
    """Return one row: state, its source (`log`, or `described` if the coordinator reported it), its age, and epochs."""
    columns = (
        "GROUP KIND~4 ASSIGNMENT-STRATEGY~7 STATE~1 SOURCE~10 FOR~2 GENERATION~5 GROUP-EPOCH~9"
        " TARGET-ASSIGNMENT-EPOCH~11 #MEMBERS~3 GROUP-EXPIRES~6 DEATH-CAUSE~8"
    )
    row = [
        *(_cell(group[name]) for name in ("group", "kind", "protocol", "state")),
        "-" if group["state"] is None else "described" if group["state_described"] else "log",
        age(group["state_since"], now),
        *(_cell(group[name]) for name in ("generation", "group_epoch", "assignment_epoch", "members")),
        time_left(group["group_expiry_time"], now),
        _word(group["death_cause"]),
    ]
    return _table(columns, [row])


def transitions_table(transitions: Iterable[Answer]) -> TextTable:
    """Return a row per transition, the oldest first.

    SEEN is `replayed` if the record was in the topic before the checkpoint was created, else `live`.
    """
    rows = (
        [
            _time(each),
            display_text(each["transition"]),
            _word(each["cause"]),
            "live" if each["live"] else "replayed",
            display_text(each["text"]),
        ]
        for each in transitions
    )
    return _table("TIME_(UTC) WHAT CAUSE~1 SEEN~2 STORY", rows)


def history_table(transitions: Iterable[Answer], changes: Iterable[Answer]) -> TextTable:
    """Return a row per transition and per change of the verdict, the oldest first, as `transitions_table`."""
    verdicts = (
        each
        | {"transition": f"verdict {_words(each['verdict'])}", "cause": None, "live": True, "text": each["sentence"]}
        for each in changes
    )
    return transitions_table(sorted([*transitions, *verdicts], key=lambda each: unix_time(each["time"]) or 0.0))


def verdicts_table(changes: Iterable[Answer]) -> TextTable:
    """Return a row per change of the verdict, the oldest first, with the sentence of that time."""
    rows = (
        [_time(each), *map(_cell, (_words(each["before"]), _words(each["verdict"]), each["sentence"]))]
        for each in changes
    )
    return _table("TIME_(UTC) WAS IS STORY", rows)


def _time(event: Answer) -> str:
    text: str = event["time"]
    return text.replace("T", " ").removesuffix("Z")


def findings_table(findings: Iterable[Answer], group: Answer, now: float) -> TextTable:
    """Return a row per partition that is not fine, with owner and offsets; most columns are spare."""
    columns = "TOPIC PARTITION VERDICT FOR LAG~1 TIME-LAG~2 OWNER~3 COMMITTED~4 END~5 COMMIT-AGE~6 PROGRESS-AGE~7"
    known = {(row["topic"], row["partition"]): row for row in group["by_partition"]}
    owners = _owners(group)
    rows = ((each, known.get((each["topic"], each["partition"]), {})) for each in findings)
    cells = (
        [
            *_finding(each, now),
            _cell(row.get("lag")),
            format_time_lag(row.get("time_lag"), exact=row.get("time_lag_exact")),
            _cell(owners.get((each["topic"], each["partition"]))),
            *(_cell(row.get(name)) for name in ("committed_offset", "high_watermark")),
            *(age(row.get(name), now) for name in ("commit_time", "progress_time")),
        ]
        for each, row in rows
    )
    return _table(columns, cells)


def _finding(finding: Answer, now: float) -> list[str]:
    values = (finding["topic"], finding["partition"], _words(finding["verdict"]))
    return [*map(_cell, values), age(finding["since"], now)]


def share_findings_table(findings: Iterable[Answer], group: Answer, now: float) -> TextTable:
    """Return a row per partition of a share group that is not fine, with its progress."""
    columns = "TOPIC PARTITION VERDICT FOR LAG START-OFFSET END~1 FINISHED~2 RETURNED~3 MOST-DELIVERIES~4"
    known = {(row["topic"], row["partition"]): row for row in group.get("by_share_partition") or ()}
    names = ("lag", "start_offset", "end", "finished", "returned", "most_deliveries")
    rows = (
        [
            *_finding(each, now),
            *map(_cell, map((known.get((each["topic"], each["partition"])) or each["evidence"]).get, names)),
        ]
        for each in findings
    )
    return _table(columns, rows)


def _owners(group: Answer) -> dict[tuple[str, int], str]:
    """Return the owner by topic and partition: client id, or member id if there is none, and host.

    Java puts a slash before an address without a name.
    """
    return {
        (topic, partition): "@".join(filter(None, (member["client_id"] or member["member_id"], host)))
        for member in group["by_member"] or ()
        for host in [(member["client_host"] or "").removeprefix("/")]
        for topic, partitions in member["assignment"].items()
        for partition in partitions
    }


def topics_table(topics: Iterable[Answer]) -> TextTable:
    """Return a row per topic."""
    rows = (
        [
            *map(_cell, (each["topic"], _words(each["verdict"]))),
            *map(_cell, (each["partitions"], each["lag_sum"], each["lag_max"])),
            format_time_lag(each["time_lag_max"], exact=each["time_lag_max_exact"]),
            _cell(each["partitions_lag_unknown"]),
        ]
        for each in topics
    )
    return _table("TOPIC VERDICT PARTITIONS LAG GREATEST-LAG~1 TIME-LAG~2 LAG-UNKNOWN~3", rows)


def _table(columns: str, rows: Iterable[list[str]], unused: Collection[str] = ()) -> TextTable:
    """Return a table. A column is its head, with `~` and a number if a narrow terminal drops it, the greatest first.

    Columns in `unused` are left out. `_` stands for a blank.
    """
    parts = [column.replace("_", " ").partition("~") for column in columns.split()]
    kept = [index for index, (name, _, _) in enumerate(parts) if name not in unused]
    heads = [TableColumn(name, name in _NUMBERS, int(rank or 0)) for name, _, rank in (parts[index] for index in kept)]
    return TextTable(heads, [[row[index] for index in kept] for row in rows])


def _cell(value: Any) -> str:
    return "-" if value is None else display_text(str(value))


def _word(value: str | None) -> str:
    return "-" if value is None else display_text(value.replace(" ", "-"))


def _words(verdict: str | None) -> str | None:
    """Return a verdict as on the pages: `falling behind`."""
    return None if verdict is None else verdict.replace("_", " ")


def _assignment(assignment: dict[str, list[int]]) -> str:
    """Return an assignment as Kafka's tool prints it: `topic:0,1;topic2:3`."""
    parts = (
        f"{display_text(topic)}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in sorted(assignment.items())
    )
    return ";".join(parts)
