"""The rights that `lagwarden acls` prints: few, explained, and safe to paste into a shell."""

from __future__ import annotations

import shlex

from stream.acls import RIGHTS, commands


def test_reading_is_asked_for_the_coordinators_topics_alone() -> None:
    """A monitor must not be granted the messages of the cluster."""
    readable = [right.resource for right in RIGHTS if "Read" in right.operations and right.resource[0] == "--topic"]
    assert readable == [("--topic", "__consumer_offsets"), ("--topic", "__transaction_state")]


def test_each_command_stands_below_its_reason() -> None:
    """Whoever is asked to grant a right sees what it is for."""
    lines = commands("User:lagwarden", "broker:9092")
    assert [line.startswith("#") for line in lines] == [True, False] * len(RIGHTS)


def test_words_survive_the_shell() -> None:
    """A principal with blanks and a wildcard reach kafka-acls as they are."""
    line = commands("User:CN=lag warden,O=x", "b:1", "/etc/admin.properties")[3]
    words = shlex.split(line)
    assert words[words.index("--allow-principal") + 1] == "User:CN=lag warden,O=x"
    assert words[words.index("--topic") + 1] == "*"
    assert words[words.index("--command-config") + 1] == "/etc/admin.properties"
