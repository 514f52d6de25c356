"""The history and the evaluation of groups."""

from __future__ import annotations

from stream.config.ownership import MaintenanceEntries, OwnerEntries, SilenceEntries
from stream.config.sections.option import OptionSection, option
from stream.config.values import Patterns, Seconds


class GroupsOptions(OptionSection):
    """The history kept per group, requests about groups that the log cannot answer, owners, and muted alerts."""

    dead_grace: Seconds = option(
        3600.0,
        "How long a removed group stays visible, with its cause of removal and its history.",
        unit="seconds",
        ge=0,
        le=604_800,
    )
    history: int = option(
        32, "The number of latest transitions and of latest verdict changes kept per group.", ge=1, le=1000
    )
    offsets_retention: Seconds | None = option(
        None,
        "The brokers' `offsets.retention.minutes`, for clusters where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    offsets_retention_check: Seconds | None = option(
        None,
        "The brokers' `offsets.retention.check.interval.ms`, for clusters where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    asked_per_tick: int = option(
        50,
        "The number of classic groups with members that are described per tick, oldest description first, because the"
        " log does not show when they rebalance. 0 disables this.",
        ge=0,
        le=10_000,
    )
    mirrored: Patterns = option(
        (),
        "Patterns of groups whose offsets another program copies here: MirrorMaker 2 with"
        " `sync.group.offsets.enabled`, a replicator (docs/health.md).",
        shown="none",
        experimental=True,
    )
    owners: OwnerEntries = option(
        (),
        "Owners of groups, as a list of `{groups: PATTERN, team: …, tier: …, link: …, max_severity: …}`; the first"
        " matching pattern applies. Alerts get `team`, `tier` and `max_severity` as labels (docs/alerting.md).",
        shown="none",
        experimental=True,
    )
    maintenance: MaintenanceEntries = option(
        (),
        "Maintenance windows of groups, in which no alert about them fires, as a list of `{groups: PATTERN, from: TIME,"
        ' to: TIME}` (RFC 3339) or `{groups: PATTERN, days: [sat, sun], at: "22:30", for: 2h, timezone:'
        " Europe/Berlin}` (docs/alerting.md).",
        shown="none",
        experimental=True,
    )
    silences: SilenceEntries = option(
        (),
        "Groups about which no alert fires, as a list of `{groups: PATTERN, reason: TEXT}`, with `until: TIME` (RFC"
        " 3339) if the silence ends by itself (docs/alerting.md).",
        shown="none",
        experimental=True,
    )


class HealthOptions(OptionSection):
    """The rules that evaluate groups, and their time limits. A group's own commit interval takes precedence."""

    pause: Seconds = option(
        45.0,
        "How long any group may make no progress: a deploy, a garbage collection, a slow batch. A group that usually"
        " pauses for longer is given that time.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    restart_grace: Seconds = option(
        30.0,
        "How long a restarting consumer, or the leader of a partition, may be absent before this counts.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    static_restart_grace: Seconds = option(
        60.0,
        "The same for static members (`group.instance.id`), which do not leave the group when they stop.",
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
        "How long a rolling deploy may take, in which members subscribe to the old and to the new topics.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    share_pause: Seconds = option(
        300.0,
        "How long records of a share group may wait while none is accepted, archived or returned. Must be longer"
        " than the time for which members may hold a record (`share.record.lock.duration.ms`).",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    first_commit_grace: Seconds = option(
        360.0,
        "How long the first commit of a partition may take; clients refresh their metadata every five minutes"
        " (`metadata.max.age.ms`).",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    loss_notice: Seconds = option(
        3600.0, "How far ahead the loss of unread records to retention is predicted.", unit="seconds", gt=0, le=604_800
    )
    expiry_notice: Seconds = option(
        86_400.0,
        "How long in advance the expiration of an offset is reported.",
        unit="seconds",
        gt=0,
        le=31_536_000,
    )
    day_one: Seconds = option(
        86_400.0,
        "Faults that began before lagwarden first looked, and faults of groups without members that had not committed"
        " for this long, are shown and raise no alert (docs/alerting.md). 0: every fault does.",
        unit="seconds",
        ge=0,
        le=31_536_000,
        experimental=True,
    )
    end_points: int = option(
        48,
        "The number of points kept per partition in the history of its end offset; 16 bytes each.",
        ge=8,
        le=1000,
    )
