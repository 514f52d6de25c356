"""The ACLs that `lagwarden acls` prints: a minimal set, with reasons, quoted for a shell."""

import shlex

from stream.cli.acls import REQUIRED_ACLS, acl_commands

LINES = acl_commands("User:lagwarden", "broker:9092")


def test_only_the_topics_of_coordinators_are_readable() -> None:
    """A monitor can read the three internal topics of coordinators and the messages of no other topic."""
    words = [shlex.split(line) for line in LINES if not line.startswith("#")]
    readable = [each[each.index("--topic") + 1] for each in words if "Read" in each and "--topic" in each]
    assert readable == ["__consumer_offsets", "__transaction_state", "__share_group_state"]


def test_reading_a_transactional_topic_is_a_comment_with_its_cost() -> None:
    """The ACL is optional: the script does not grant it, and explains what is missing without it."""
    (acl,) = (acl for acl in REQUIRED_ACLS if acl.cost)
    assert (acl.optional, acl.operations) == (True, ("Read",))
    reason, *cost, command = LINES[LINES.index(f"# optional: {acl.purpose}") :]
    assert reason.startswith("# optional")
    assert all(line.startswith("#   ") for line in cost)
    assert "unknown" in "".join(cost)
    assert command == (
        "# bin/kafka-acls.sh --bootstrap-server broker:9092 --add --allow-principal User:lagwarden --operation Read"
        " --topic TRANSACTIONAL_TOPIC"
    )


def test_arguments_are_quoted_for_the_shell() -> None:
    """A principal with blanks, a file and a wildcard reach kafka-acls.sh unchanged."""
    line = acl_commands("User:CN=lag warden,O=x", "b:1", "/etc/admin.properties")[3]
    words = shlex.split(line)
    assert words[words.index("--allow-principal") + 1] == "User:CN=lag warden,O=x"
    assert words[words.index("--topic") + 1] == "*"
    assert words[words.index("--command-config") + 1] == "/etc/admin.properties"
