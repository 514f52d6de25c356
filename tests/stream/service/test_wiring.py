"""The wiring: options reach the parts in the units of the parts."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from stream.config.options import Config
from stream.config.secret_sources import SecretFile
from stream.health.limits import HealthLimits
from stream.service import wiring
from stream.service.wiring import (
    checkpoint_layout,
    context_poller,
    executor_files,
    health_limits,
    lookup_limits,
    pipeline_options,
    progress_address,
    session_options,
    verdict_evaluator,
)
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import TASK_ATTEMPTS

STANDALONE: Final = {"master": "spark://127.0.0.1:7077", "authenticate": False}


def config(**health: float) -> Config:
    return Config.model_validate(
        {"kafka": {"bootstrap_servers": "a:1"}, "job": {"tick_interval": 5.0}, "health": health}
    )


def test_every_option_has_its_limit() -> None:
    """Seconds become milliseconds; the slot is that of the checkpoint; an option that is not set changes nothing.

    The limits of lookups are in seconds.
    """
    assert health_limits(config(), 30_000) == dataclasses.replace(HealthLimits(), tick=5_000)
    graces = {"restart_grace": 1, "static_restart_grace": 2, "first_commit_grace": 3, "rebalance_limit": 4}
    others = {"pause": 3, "storm_window": 65, "rolling_deploy": 8, "share_pause": 11, "loss_notice": 6}
    seconds = {**graces, **others, "expiry_notice": 7}
    limits = {name: number * 1_000 for name, number in seconds.items()}
    assert health_limits(config(**seconds), 1_000) == HealthLimits(tick=5_000, slot=1_000, **limits)
    given = lookup_limits(config(), 15_000, 7)
    assert (given.tick, given.slot, given.keep_slots) == (5.0, 15.0, 7)


def with_sections(**sections: dict[str, Any]) -> Config:
    return Config.model_validate({"kafka": {"bootstrap_servers": "a:1"}, **sections})


def test_session_with_executors() -> None:
    """Options reach the session; the address of the driver is that of the route to the master.

    A session without executors has no options of a cluster and listens on loopback.
    """
    further = {"spark.locality.wait": "1s"}
    own = {"executor_python": "/opt/python", "driver_port": 7078, "spark_options": further}
    given = with_sections(job={**STANDALONE, **own})
    options = session_options(given, JvmOptions("512m"))
    assert options.executors is not None
    assert (options.driver_host, options.executors.bind_address) == ("127.0.0.1", "127.0.0.1")
    assert (options.executors.number, options.executors.cores, options.executors.memory) == (2, 1, "1g")
    assert (options.python, options.further) == ("/opt/python", further)
    assert progress_address(given.job, "127.0.0.1") == ("127.0.0.1", 7078)
    service = with_sections(job={**STANDALONE, "driver_host": "d.example", "driver_bind_address": "10.0.0.9"})
    options = session_options(service, JvmOptions("512m"))
    assert options.executors is not None
    assert (options.driver_host, options.executors.bind_address) == ("d.example", "10.0.0.9")
    assert progress_address(service.job, "d.example") == ("10.0.0.9", 0)
    options = session_options(with_sections(job={}), JvmOptions("512m"))
    assert (options.driver_host, options.executors) == ("127.0.0.1", None)


def test_files_that_executors_read_are_those_of_the_login(tmp_path: Path) -> None:
    """The executors get the files of passwords and certificates by their absolute paths."""
    for name in ("password", "ca.pem"):
        (tmp_path / name).write_text("x")
    login = {
        "bootstrap_servers": "a:1",
        "security_protocol": "SASL_SSL",
        "sasl_password": SecretFile(tmp_path / "password"),
        "ssl_ca_file": tmp_path / "ca.pem",
    }
    assert executor_files(Config.model_validate({"kafka": login})) == [tmp_path / "password", tmp_path / "ca.pem"]
    assert executor_files(with_sections(job={})) == []


def test_the_pipeline_continues_the_layout_of_the_checkpoint() -> None:
    """Slots and placement come from the checkpoint, limits from the configuration.

    All attempts of a task end before the watchdog limit, so that the log has the error of the cluster as the cause.
    """
    job = {"trigger_interval": 2.0, "watchdog_limit": 100}
    given = with_sections(job=job, groups={"history": 9, "dead_grace": 60})
    kept = dataclasses.replace(checkpoint_layout(given, 4), slot_ms=1_000, keep_slots=5)
    manifest = SimpleNamespace(layout=kept, live_from=77)
    checkpoint: Any = SimpleNamespace(manifest=manifest, folder=Path("/checkpoint"), spark="/checkpoint/spark")
    options = pipeline_options(given, checkpoint, {0: 3, 1: 4}, ("127.0.0.1", 5, "t"))
    reading = options.reading
    assert (reading.slot_ms, reading.keep_slots, reading.placement) == (1_000, 5, kept.placement)
    assert (reading.starts, reading.progress_address) == ({0: 3, 1: 4}, ("127.0.0.1", 5, "t"))
    assert (options.trigger_seconds, options.live_from, options.checkpoint) == (2.0, 77, "/checkpoint/spark")
    rules = options.rules
    assert (rules.keep_slots, rules.keep_transitions, rules.dead_grace_ms) == (5, 9, 60_000)
    assert 60 < TASK_ATTEMPTS * reading.limit < 100


def test_a_configured_retention_replaces_that_of_the_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The configured retention is in ms; without the option, the retention is unknown."""
    monkeypatch.setattr(wiring, "ContextPoller", lambda _cluster, configured, *_: configured)
    cluster: Any = None
    configured: Any = context_poller(with_sections(groups={"offsets_retention": 60}), cluster)
    assert (configured.retention_ms, configured.source) == (60_000, "configuration")
    unknown: Any = context_poller(with_sections(), cluster)
    assert (unknown.retention_ms, unknown.source) == (None, "unknown")


def test_the_evaluator_uses_the_configured_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator gets the limits, the history and the store.

    Burrow's statuses are computed only for exporters that show them.
    """
    monkeypatch.setattr(wiring, "VerdictEvaluator", lambda limits, **options: (limits, options))
    given = with_sections(groups={"history": 9})
    store: Any = object()
    made: Any = verdict_evaluator(given, 15_000, store)
    limits, options = made
    assert limits == health_limits(given, 15_000)
    assert (options["history"], options["store"]) == (9, store)
    for names, wanted in (((), False), (("kminion",), False), (("kminion", "burrow"), True)):
        made = verdict_evaluator(with_sections(metrics={"compatibility": names}), 15_000, store)
        assert made[1]["with_burrow"] is wanted
