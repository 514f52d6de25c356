"""Options reach the rules in their own units."""

from __future__ import annotations

import dataclasses

from stream.config.options import Config
from stream.health.limits import HealthLimits
from stream.service.wiring import health_limits, lookup_limits


def config(**health: float) -> Config:
    """Give a configuration with some options of health."""
    return Config.model_validate(
        {"kafka": {"bootstrap_servers": "a:1"}, "job": {"tick_interval": 5.0}, "health": health}
    )


def test_the_defaults_are_those_of_the_rules() -> None:
    """An option that is not given changes nothing."""
    assert health_limits(config(), 30_000) == dataclasses.replace(HealthLimits(), tick=5_000)


def test_every_option_has_its_limit() -> None:
    """Seconds become milliseconds, each in its place; the slot is the checkpoint's."""
    given = health_limits(
        config(
            restart_grace=1,
            static_restart_grace=2,
            first_commit_grace=3,
            rebalance_limit=4,
            storm_window=65,
            loss_notice=6,
            expiry_notice=7,
        ),
        1_000,
    )
    assert given == HealthLimits(
        tick=5_000,
        slot=1_000,
        restart=1_000,
        static_restart=2_000,
        first_commit=3_000,
        rebalance=4_000,
        storm=65_000,
        loss=6_000,
        expiry=7_000,
    )


def test_what_may_be_asked_follows_the_tick_and_the_window() -> None:
    """In seconds."""
    given = lookup_limits(config(), 15_000, 7)
    assert (given.tick, given.slot, given.keep_slots) == (5.0, 15.0, 7)
