"""The history and the evaluation of groups."""

from __future__ import annotations

from stream.config.ownership import MaintenanceEntries, OwnerEntries, SilenceEntries
from stream.config.sections.option import OptionSection, option
from stream.config.values import Patterns, Seconds


class GroupsOptions(OptionSection):
    """The history kept per group, requests about groups that the log cannot answer, owners, and muted alerts."""

    dead_grace: Seconds = option(
        3600.0,
        "How long a removed group stays visible, with its cause and history.",
        unit="seconds",
        ge=0,
        le=604_800,
    )
    history: int = option(32, "Latest transitions, and verdict changes, kept per group.", ge=1, le=1000)
    offsets_retention: Seconds | None = option(
        None,
        "The brokers' `offsets.retention.minutes`, where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    offsets_retention_check: Seconds | None = option(
        None,
        "The brokers' `offsets.retention.check.interval.ms`, where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    asked_per_tick: int = option(
        50,
        "Classic groups that are described per tick, because the log does not show when they rebalance.",
        ge=0,
        le=10_000,
    )
    mirrored: Patterns = option(
        (),
        "Patterns of groups whose offsets another program copies here, such as MirrorMaker 2 (docs/health.md).",
        shown="none",
        experimental=True,
    )
    owners: OwnerEntries = option(
        (),
        "Owners: `{groups: PATTERN, team: …, tier: …, link: …, max_severity: …}`; the first match applies"
        " (docs/alerting.md).",
        shown="none",
        experimental=True,
    )
    maintenance: MaintenanceEntries = option(
        (),
        "Windows without alerts: `{groups: PATTERN, from: TIME, to: TIME}` or `{groups: PATTERN, days: [sat, sun], at:"
        ' "22:30", for: 2h, timezone: Europe/Berlin}` (docs/alerting.md).',
        shown="none",
        experimental=True,
    )
    silences: SilenceEntries = option(
        (),
        "Groups without alerts: `{groups: PATTERN, reason: TEXT}`, with `until: TIME` if it ends by itself"
        " (docs/alerting.md).",
        shown="none",
        experimental=True,
    )


class HealthOptions(OptionSection):
    """The rules that evaluate groups, and their time limits. A group's own commit interval takes precedence."""

    pause: Seconds = option(
        45.0,
        "How long any group may make no progress, or longer if it usually does.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    restart_grace: Seconds = option(
        30.0,
        "How long a restarting consumer, or the leader of a partition, may be absent.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    static_restart_grace: Seconds = option(
        60.0,
        "The same for static members (`group.instance.id`).",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    rebalance_limit: Seconds = option(
        60.0, "How long a rebalance may take while there are unread records.", unit="seconds", gt=0, le=86_400
    )
    storm_window: Seconds = option(
        600.0, "The time window in which rebalances are counted.", unit="seconds", ge=60, le=86_400
    )
    rolling_deploy: Seconds = option(
        600.0,
        "How long members may subscribe to the old and to the new topics.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    share_pause: Seconds = option(
        300.0,
        "How long records of a share group may wait; longer than `share.record.lock.duration.ms`.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    first_commit_grace: Seconds = option(
        360.0,
        "How long the first commit of a partition may take.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    loss_notice: Seconds = option(
        3600.0, "How far ahead the loss of unread records is predicted.", unit="seconds", gt=0, le=604_800
    )
    expiry_notice: Seconds = option(
        86_400.0,
        "How far ahead the expiration of an offset is reported.",
        unit="seconds",
        gt=0,
        le=31_536_000,
    )
    day_one: Seconds = option(
        86_400.0,
        "Faults older than lagwarden, and those of groups without members and commits for this long, raise no alert"
        " (docs/alerting.md).",
        unit="seconds",
        ge=0,
        le=31_536_000,
        experimental=True,
    )
    end_points: int = option(
        48,
        "Points in the history of an end offset, 16 bytes each.",
        ge=8,
        le=1000,
    )
