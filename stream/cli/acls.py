"""The rights that lagwarden needs on a secured cluster, as `kafka-acls` commands. The least that works.

Owns the list of rights with the reason for each. Nobody should grant a monitor `--consumer --topic '*'`: that is the
right to read every message of the cluster. A right that shows messages has a price, and is printed as a comment:
whoever wants it chooses the topics.
"""

from __future__ import annotations

import dataclasses
import shlex
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class RequiredAcl:
    """One right: what for, on which resource, and whether lagwarden runs without it."""

    why: str
    resource: tuple[str, ...]
    operations: tuple[str, ...]
    optional: bool = False
    price: tuple[str, ...] = ()
    """What it costs to grant it, and what is lost without it. Then the script does not grant the right."""


REQUIRED_ACLS: Final = (
    RequiredAcl("read the group coordinators' topic", ("--topic", "__consumer_offsets"), ("Read", "Describe")),
    RequiredAcl("ask for the ends of the partitions that groups read", ("--topic", "*"), ("Describe",)),
    RequiredAcl(
        "the reader of Spark's source names a group, though it never joins it",
        ("--group", "spark-kafka-source-", "--resource-pattern-type", "prefixed"),
        ("Read",),
    ),
    RequiredAcl("retention and compaction of topics", ("--topic", "*"), ("DescribeConfigs",), optional=True),
    RequiredAcl(
        "the brokers' settings, the size of the offsets topic, and who the controller is",
        ("--cluster",),
        ("DescribeConfigs", "Describe"),
        optional=True,
    ),
    RequiredAcl(
        "groups that rebalance, or whose commits an open transaction hides",
        ("--group", "*"),
        ("Describe",),
        optional=True,
    ),
    RequiredAcl("name who holds a partition back", ("--transactional-id", "*"), ("Describe",), optional=True),
    RequiredAcl(
        "the same where a coordinator is away, has forgotten the producer, or the topic may not be read",
        ("--topic", "__transaction_state"),
        ("Read", "Describe"),
        optional=True,
    ),
    RequiredAcl(
        "tell transaction markers at the end of a transactional topic from unread records",
        ("--topic", "TRANSACTIONAL_TOPIC"),
        ("Read",),
        optional=True,
        price=(
            "price: it lets lagwarden's user read every message of the topic. lagwarden reads the last records only,",
            "of partitions that are at rest, and keeps none. Not granted by this script: choose the topics.",
            "without it: a group that rests before a marker is `unknown` instead of `caught_up`, and so is one that",
            "has stopped with fewer than a thousand offsets unread. lagwarden_unreadable_tails counts the partitions.",
        ),
    ),
)


def acl_commands(principal: str, bootstrap_server: str, command_config: str | None = None) -> list[str]:
    """Return the lines of a shell script that grants REQUIRED_ACLS to a principal such as `User:lagwarden`.

    Those that have a price are comments in it.
    """
    lines = []
    for right in REQUIRED_ACLS:
        need = "optional" if right.optional else "needed"
        command = _command(right, principal, bootstrap_server, command_config)
        lines += [f"# {need}: {right.why}", *(f"#   {line}" for line in right.price)]
        lines.append(f"# {command}" if right.price else command)
    return lines


def _command(right: RequiredAcl, principal: str, bootstrap_server: str, command_config: str | None) -> str:
    words = ["kafka-acls", "--bootstrap-server", bootstrap_server]
    if command_config is not None:
        words += ["--command-config", command_config]
    words += ["--add", "--allow-principal", principal]
    for operation in right.operations:
        words += ["--operation", operation]
    return shlex.join([*words, *right.resource])
