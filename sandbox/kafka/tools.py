"""Kafka's own command-line tools, run from the broker's jars: the reference that lagwarden is compared with.

The tools print tables for people and report most failures as text with exit code 0, so each table is parsed by
its own header and each known form of failure becomes a ToolError. A call starts a JVM and takes about a second.
Source: `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand` of 4.3.
"""

import contextlib
import dataclasses
import re
import subprocess
import uuid
from collections.abc import Iterator
from typing import Final

from sandbox.kafka.jars import BROKER, TOOLS, tools_jars
from sandbox.kafka.java import SMALL_JVM, ClassArchive, class_path, find_java

CONSUMER_GROUPS: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SCALA_CONSUMER_GROUPS: Final = "kafka.admin.ConsumerGroupCommand"
"""The same tool up to Kafka 3.7."""
LIMIT: Final = 60.0
"""Seconds after which a tool that still waits for its broker is killed."""
LISTING_ATTEMPTS: Final = 3
FIRST_ALL_GROUPS: Final = "2.4.0"
"""The first release whose tool describes all groups in one call."""
FIRST_JAVA_TOOL: Final = "3.8.0"
GROUP_NOT_FOUND: Final = "GroupIdNotFoundException"
QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
HEADER_FIELD: Final = re.compile(r"\S+(?: \(ID\))?")


class ToolError(RuntimeError):
    """The tool failed, or printed an error with exit code 0. The message is its output."""


class GroupRemovedError(ToolError):
    """A group of the request does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupOffset:
    """One row of `--describe`; None where the tool prints `-`: a member without partitions, no commit, no known end."""

    group: str
    topic: str | None
    partition: int | None
    current_offset: int | None
    # The tool's name for the high watermark.
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupState:
    """One row of `--describe --state`."""

    group: str
    coordinator: str | None
    assignment_strategy: str | None
    state: str
    members: int


def describe_groups(bootstrap: str, version: str = BROKER) -> list[GroupOffset]:
    """Return the offsets of all groups except share, streams and Connect groups, which this tool does not describe."""
    if release(version) < release(FIRST_ALL_GROUPS):
        rows = [row for group in _listed(bootstrap, version) for row in _describe_one(bootstrap, group, version)]
    else:
        rows = table_rows(_describe_all(bootstrap, version=version))
    return [
        GroupOffset(
            group=row["GROUP"] or "",
            topic=row["TOPIC"],
            partition=_number(row["PARTITION"]),
            current_offset=_number(row["CURRENT-OFFSET"]),
            log_end_offset=_number(row["LOG-END-OFFSET"]),
            lag=_number(row["LAG"]),
            consumer_id=row["CONSUMER-ID"],
            host=row["HOST"],
            client_id=row["CLIENT-ID"],
        )
        for row in rows
    ]


def describe_state(bootstrap: str) -> list[GroupState]:
    """Return the state of all groups that this tool describes."""
    rows = table_rows(_describe_all(bootstrap, "--state"))
    return [
        GroupState(
            group=row["GROUP"] or "",
            coordinator=row["COORDINATOR (ID)"],
            assignment_strategy=row["ASSIGNMENT-STRATEGY"],
            state=row["STATE"] or "",
            members=int(row["#MEMBERS"] or 0),
        )
        for row in rows
    ]


def delete_offsets(bootstrap: str, group: str, topic: str, partition: int | None = None) -> None:
    """Delete a group's offsets of a topic, or of one partition. Raises ToolError, also when only some were deleted."""
    target = topic if partition is None else f"{topic}:{partition}"
    rows = table_rows(consumer_groups(bootstrap, "--delete-offsets", "--group", group, "--topic", target))
    if not rows or any(row["STATUS"] != "Successful" for row in rows):
        raise ToolError(f"offsets of {target} in group {group} were not deleted: {rows}")


def delete_group(bootstrap: str, group: str) -> None:
    """Delete a group without members. Raises ToolError."""
    printed = consumer_groups(bootstrap, "--delete", "--group", group)
    if "was successful" not in printed:
        raise ToolError(printed.strip())


def consumer_groups(bootstrap: str, *arguments: str, version: str = BROKER) -> str:
    """Return the output of `kafka-consumer-groups`. Raises ToolError."""
    tools = release(TOOLS.get(version, version))
    main_class = CONSUMER_GROUPS if tools >= release(FIRST_JAVA_TOOL) else SCALA_CONSUMER_GROUPS
    return run_tool(main_class, "--bootstrap-server", bootstrap, *arguments, version=version)


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, which compare as releases do."""
    return tuple(int(number) for number in version.split("."))


def run_tool(main_class: str, *arguments: str, version: str = BROKER) -> str:
    """Run one of Kafka's tools by its class and return its standard output. Raises ToolError.

    `version` is that of the broker whose tools are run. The first successful run of a tool on this machine writes its
    class archive, with which it starts in half the time.
    """
    archive = tool_archive(main_class, version)
    draft = None if archive.exists else archive.draft(uuid.uuid4().hex)
    sharing = archive.flags_to_use() if draft is None else archive.flags_to_write(draft)
    class_path_option = ("-cp", class_path(tools_jars(version)))
    command = [*(str(find_java()), *SMALL_JVM, QUIET, *sharing, *class_path_option, main_class), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{main_class} {' '.join(arguments)}: no answer in {LIMIT:.0f} s") from error
    if done.returncode or any(line.startswith("Error:") for line in done.stdout.splitlines()):
        if draft is not None:
            draft.unlink(missing_ok=True)
        printed = (done.stdout + done.stderr).strip()
        raise (GroupRemovedError if GROUP_NOT_FOUND in printed else ToolError)(printed)
    if draft is not None:
        archive.adopt(draft)
    return done.stdout


def tool_archive(main_class: str, version: str = BROKER) -> ClassArchive:
    """Return the class archive of one of Kafka's tools; it exists once `run_tool` has run the tool."""
    return ClassArchive.build(f"{main_class.rpartition('.')[2]}-{version}", tools_jars(version), SMALL_JVM)


def _describe_all(bootstrap: str, *arguments: str, version: str = BROKER) -> str:
    """Return the output of `--describe --all-groups`. Raises ToolError.

    The tool lists the groups first and describes them in a second request. It fails as a whole when the broker removes
    one of them in between, so that failure is repeated.
    """
    for _ in range(LISTING_ATTEMPTS - 1):
        with contextlib.suppress(GroupRemovedError):
            return consumer_groups(bootstrap, "--describe", "--all-groups", *arguments, version=version)
    return consumer_groups(bootstrap, "--describe", "--all-groups", *arguments, version=version)


def _listed(bootstrap: str, version: str) -> list[str]:
    """Return the names of all groups from a tool that prints one a line, and remarks that have spaces."""
    return [
        line for line in consumer_groups(bootstrap, "--list", version=version).split("\n") if line.split() == [line]
    ]


def _describe_one(bootstrap: str, group: str, version: str) -> list[dict[str, str | None]]:
    """Return the rows of one group from a tool whose tables do not name it."""
    return [
        {**row, "GROUP": group}
        for row in table_rows(consumer_groups(bootstrap, "--describe", "--group", group, version=version))
    ]


def table_rows(text: str) -> list[dict[str, str | None]]:
    """Parse the tool's tables: one dict per row, by header; `-` becomes None; lines outside the tables are skipped.

    A table is a header in capitals and the lines up to the next empty one. Columns begin where the fields of the
    header begin, because a group, a client or a topic pattern may contain spaces.
    """
    return list(_table_rows(text.splitlines()))


def _table_rows(lines: list[str]) -> Iterator[dict[str, str | None]]:
    header: list[tuple[str, int, int | None]] = []
    for line in lines:
        if not line.strip():
            header = []
        elif line.startswith(("GROUP ", "TOPIC ")):
            header = _columns(line)
        elif header:
            yield {name: _value(line[start:end]) for name, start, end in header}


def _columns(header: str) -> list[tuple[str, int, int | None]]:
    """Return each field of a header line with the start and the end of its column; None: the end of the line."""
    fields = [(field.group(), field.start()) for field in HEADER_FIELD.finditer(header)]
    ends: list[int | None] = [start for _, start in fields[1:]]
    return [(name, start, end) for (name, start), end in zip(fields, [*ends, None], strict=True)]


def _value(text: str) -> str | None:
    return None if text.strip() in {"-", ""} else text.strip()


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
