"""The command `acls`: the smallest set of ACLs that lagwarden needs on a secured cluster, with reasons.

The commands run in the folder of Kafka, whose `bin/kafka-acls.sh` they call.

Do not grant a monitor `--consumer --topic '*'`: that is the right to read every message of the cluster. An ACL that
lets lagwarden read messages is printed as a comment with its cost, so that the administrator selects the topics.
"""

import dataclasses
import json
import shlex
from typing import Annotated, Final

import typer

from stream.cli.options import PlainJson


@dataclasses.dataclass(frozen=True, slots=True)
class RequiredAcl:
    """An ACL: its purpose, resource and operations, and whether lagwarden runs without it."""

    purpose: str
    resource: tuple[str, ...]
    operations: tuple[str, ...]
    optional: bool = False
    cost: tuple[str, ...] = ()
    """Lines about the cost of the ACL and what is missing without it. The script does not grant an ACL with a cost."""


REQUIRED_ACLS: Final = (
    RequiredAcl("read the group coordinators' topic", ("--topic", "__consumer_offsets"), ("Read", "Describe")),
    RequiredAcl("look up the end offsets of the partitions that groups read", ("--topic", "*"), ("Describe",)),
    RequiredAcl("retention and compaction of topics", ("--topic", "*"), ("DescribeConfigs",), optional=True),
    RequiredAcl(
        "broker configurations, quotas, sizes on disk, the controller and its quorum, and reassignments",
        ("--cluster",),
        ("DescribeConfigs", "Describe"),
        optional=True,
    ),
    RequiredAcl("states of rebalancing groups", ("--group", "*"), ("Describe",), optional=True),
    RequiredAcl("name the producer of an open transaction", ("--transactional-id", "*"), ("Describe",), optional=True),
    RequiredAcl(
        "the same if a coordinator is unavailable, has expired the producer id, or its topic is not readable",
        ("--topic", "__transaction_state"),
        ("Read", "Describe"),
        optional=True,
    ),
    RequiredAcl(
        "lag and verdicts of share groups", ("--topic", "__share_group_state"), ("Read", "Describe"), optional=True
    ),
    RequiredAcl(
        "distinguish transaction markers at the end of a transactional topic from unread records",
        ("--topic", "TRANSACTIONAL_TOPIC"),
        ("Read",),
        optional=True,
        cost=(
            "cost: lagwarden's user can read every message of the topic. lagwarden reads only the last records of",
            "partitions without traffic, and at a start the first unread record of a group for its time, and stores",
            "none. This script does not grant it: select the topics yourself.",
            "without it: a group whose offset is before a marker is `unknown` instead of `caught_up`, and so is a",
            "group that has stopped with fewer than a thousand offsets unread. lagwarden_unreadable_tails counts the",
            "partitions.",
        ),
    ),
)


def acls(
    principal: Annotated[
        str, typer.Option(metavar="USER", help="The principal that lagwarden logs in as.")
    ] = "User:lagwarden",
    bootstrap_servers: Annotated[
        str,
        typer.Option("--bootstrap-servers", "-b", metavar="HOST:PORT", help="The --bootstrap-server of the commands."),
    ] = "localhost:9092",
    command_config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The --command-config of the commands: the administrator's properties file."),
    ] = None,
    *,
    as_json: PlainJson = False,
) -> None:
    """Print the commands of kafka-acls.sh that grant the rights that lagwarden needs."""
    if as_json:
        typer.echo(json.dumps(acl_objects(principal, bootstrap_servers, command_config), indent=2))
    else:
        typer.echo("\n".join(acl_commands(principal, bootstrap_servers, command_config)))


def acl_commands(principal: str, bootstrap_server: str, command_config: str | None = None) -> list[str]:
    """Return the lines of a shell script that grants REQUIRED_ACLS to a principal such as `User:lagwarden`.

    An ACL with a cost is a comment.
    """
    lines = []
    objects = acl_objects(principal, bootstrap_server, command_config)
    for acl, command in zip(REQUIRED_ACLS, (each["command"] for each in objects), strict=True):
        need = "optional" if acl.optional else "required"
        lines += [f"# {need}: {acl.purpose}", *(f"#   {line}" for line in acl.cost)]
        lines.append(f"# {command}" if acl.cost else f"{command}")
    return lines


def acl_objects(principal: str, bootstrap_server: str, command_config: str | None = None) -> list[dict[str, object]]:
    """Return REQUIRED_ACLS as JSON objects: the fields of `RequiredAcl`, and the command that grants the ACL.

    `granted` is false for an ACL with a cost, which the script only shows.
    """
    words = ["bin/kafka-acls.sh", "--bootstrap-server", bootstrap_server]
    words += [] if command_config is None else ["--command-config", command_config]
    words += ["--add", "--allow-principal", principal]
    objects = []
    for acl in REQUIRED_ACLS:
        operations = [word for operation in acl.operations for word in ("--operation", operation)]
        command = shlex.join([*words, *operations, *acl.resource])
        objects.append({**dataclasses.asdict(acl), "granted": not acl.cost, "command": command})
    return objects
