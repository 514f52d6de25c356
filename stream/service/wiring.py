"""From options to the times that health goes by, and to what asking for it may cost. The slots are the checkpoint's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.health.limits import HealthLimits
from stream.tick.lookups.budget import LookupLimits

if TYPE_CHECKING:
    from stream.config.options import Config


def limits(config: Config, slot_ms: int) -> HealthLimits:
    """Give the times that the rules go by."""
    health = config.health
    return HealthLimits(
        tick=_ms(config.job.tick_interval),
        slot=slot_ms,
        restart=_ms(health.restart_grace),
        static_restart=_ms(health.static_restart_grace),
        first_commit=_ms(health.first_commit_grace),
        rebalance=_ms(health.rebalance_limit),
        storm=_ms(health.storm_window),
        loss=_ms(health.loss_notice),
        expiry=_ms(health.expiry_notice),
    )


def allowances(config: Config, slot_ms: int, keep_slots: int) -> LookupLimits:
    """Give the bounds of what is asked."""
    return LookupLimits(tick=config.job.tick_interval, slot=slot_ms / 1000, keep_slots=keep_slots)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
