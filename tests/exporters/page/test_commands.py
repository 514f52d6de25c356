"""The commands on a group's page."""

import subprocess

from exporters.page.html_tree import html
from exporters.page.links import PageLinks
from exporters.page.verdict_section import commands_section, group_commands, shell_word
from tests.exporters.snapshots import HOSTILE_NAMES

BROKERS = ("a:9092", "b:9092")


def test_a_shell_reads_the_exact_name() -> None:
    """Bash reads a quoted name as one word without expansion; the command is one line of printable text."""
    for name in (*HOSTILE_NAMES, "$(id)", "`id`", "a'b", "it\\'s\n"):
        word = shell_word(name)
        assert word.isprintable()
        # The sentinel keeps line feeds at the end.
        completed = subprocess.run(
            ["bash", "-c", f"printf %s. {word}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
        )
        assert completed.stdout.decode() == f"{name}."


def test_each_kind_of_group_has_its_commands() -> None:
    """Kafka's tool gets brokers and group. Share and Streams groups have their own, and no preview of a reset."""
    tool = "bin/kafka-consumer-groups.sh --bootstrap-server a:9092,b:9092 --group 'my group'"
    assert [command for _, command in group_commands({"group": "my group", "kind": "classic"}, BROKERS)] == [
        "lagwarden explain 'my group'",
        f"{tool} --describe",
        f"{tool} --reset-offsets --all-topics --to-latest --dry-run",
    ]
    for kind in ("share", "streams"):
        tool = f"bin/kafka-{kind}-groups.sh --bootstrap-server localhost:9092 --group g --describe"
        assert [command for _, command in group_commands({"group": "g", "kind": kind}, ())] == [
            "lagwarden explain g",
            tool,
        ]


def test_commands_of_kafka_name_the_file_of_client_settings() -> None:
    """Each command of Kafka's tools names the configured file of client settings; the command of lagwarden does not."""
    options = " --bootstrap-server a:9092,b:9092 --command-config client.properties --group g"
    for kind in ("classic", "share", "streams"):
        row = {"group": "g", "kind": kind}
        explain, *others = (command for _, command in group_commands(row, BROKERS, "client.properties"))
        assert "--command-config" not in explain
        assert [options in each for each in others] in ([True], [True, True])
        text = html(commands_section(row, PageLinks(bootstrap_servers=BROKERS, command_config="client.properties")))
        assert "client.properties has your TLS and SASL settings" in text
        assert "client.properties" not in html(commands_section(row, PageLinks(bootstrap_servers=BROKERS)))


def test_the_script_adds_the_address_of_lagwarden() -> None:
    """It does so only to lagwarden's own command; the tools read no name that begins with a dash as an option."""
    explain, describe, _ = (
        item for item in html(commands_section({"group": "g", "kind": None}, PageLinks(), "../")).split("<li>")[1:]
    )
    assert '>lagwarden explain<span data-keep="" data-root="../"></span> g</code>' in explain
    assert "data-root" not in describe
    explain, describe, _ = (command for _, command in group_commands({"group": "-x", "kind": None}, BROKERS))
    assert explain == "lagwarden explain -- -x"
    assert " --group=-x " in describe
