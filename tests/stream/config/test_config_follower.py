"""Changes of the configuration file that apply without a restart, and files that cannot be used."""

import functools
import os
from pathlib import Path

import structlog

from stream.checkpoint.usage import SideFiles
from stream.config.config_follower import ConfigFollower
from stream.config.loader import load
from stream.config.options import Config

KAFKA = "kafka: {bootstrap_servers: [a:9092]}"
OWNERS = "groups: {owners: [{groups: '.*', team: %s}]}"


def test_a_changed_file_applies_and_a_broken_one_does_not(tmp_path: Path) -> None:
    """The last usable content stays in force; each broken file is counted and logged once, and so is one that is gone.

    Changes of other options are named in the log. A file that is written again with the same content changes nothing.
    """
    file, found, files = tmp_path / "lagwarden.yaml", list[Config](), SideFiles()
    file.write_text(f"{KAFKA}\n{OWNERS % 'a'}\n")
    build = functools.partial(load, file, {"LAGWARDEN_METRICS_TARGETS": ".*=10m"})
    follower = ConfigFollower(file, build(), build)

    def follow() -> None:
        follower.follow(found.append, files.count_unusable_configuration)

    texts = [f"{OWNERS % 'a'}", f"{OWNERS % 'a'} # again", f"{OWNERS % 'b'}\njob: {{tick_interval: 7s}}"]
    texts += [OWNERS % "[]", "groups: {maintenance: [{groups: x, from: 2026-13-01}]}"]
    with structlog.testing.capture_logs() as lines:
        for number, text in enumerate([*texts, "groups: {silences: [{groups: x, reason: old}]}"]):
            file.write_text(f"{KAFKA}\n{text}\n")
            os.utime(file, (number, number))
            follow()
            follow()
        file.unlink()
        follow()
        follow()
    assert [[each.team for each in config.groups.owners] for config in found] == [["b"], []]
    assert [each.reason for each in found[-1].groups.silences] == ["old"]
    waiting = [line.get("needs_restart", line["log_level"]) for line in lines]
    assert waiting == [["job.tick_interval"], "error", "error", [], "error"]
    assert "groups.owners" in lines[1]["cause"]
    assert {row["file"]: row["failures"] for row in files.table().to_pylist()}["configuration"] == 3
