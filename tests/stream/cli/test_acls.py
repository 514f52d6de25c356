"""The rights that `lagwarden acls` prints: few, explained, and safe to paste into a shell."""

from __future__ import annotations

import shlex

from stream.cli.acls import REQUIRED_ACLS, acl_commands


def test_reading_is_asked_for_the_coordinators_topics_alone() -> None:
    """A monitor must not be granted the messages of the cluster."""
    lines = acl_commands("User:lagwarden", "broker:9092")
    words = [shlex.split(line) for line in lines if not line.startswith("#")]
    readable = [each[each.index("--topic") + 1] for each in words if "Read" in each and "--topic" in each]
    assert readable == ["__consumer_offsets", "__transaction_state"]


def test_each_command_stands_below_its_reason() -> None:
    """Whoever is asked to grant a right sees what it is for."""
    lines = acl_commands("User:lagwarden", "broker:9092")
    granted = [right for right in REQUIRED_ACLS if not right.price]
    assert [line.startswith("#") for line in lines[: 2 * len(granted)]] == [True, False] * len(granted)


def test_the_right_to_read_a_transactional_topic_is_a_comment_with_its_price() -> None:
    """It is optional: the script grants it only to those who choose the topics, and says what is lost without it."""
    (right,) = (right for right in REQUIRED_ACLS if right.price)
    assert (right.optional, right.operations) == (True, ("Read",))
    lines = acl_commands("User:lagwarden", "broker:9092")
    reason, *price, command = lines[lines.index(f"# optional: {right.why}") :]
    assert reason.startswith("# optional")
    assert all(line.startswith("#   ") for line in price)
    assert "unknown" in "".join(price)
    assert command == (
        "# kafka-acls --bootstrap-server broker:9092 --add --allow-principal User:lagwarden --operation Read"
        " --topic TRANSACTIONAL_TOPIC"
    )


def test_words_survive_the_shell() -> None:
    """A principal with blanks and a wildcard reach kafka-acls as they are."""
    line = acl_commands("User:CN=lag warden,O=x", "b:1", "/etc/admin.properties")[3]
    words = shlex.split(line)
    assert words[words.index("--allow-principal") + 1] == "User:CN=lag warden,O=x"
    assert words[words.index("--topic") + 1] == "*"
    assert words[words.index("--command-config") + 1] == "/etc/admin.properties"
