"""The history and the evaluation of groups."""

from typing import Any

from stream.config.ownership import GroupPolicies, MaintenanceEntries, OwnerEntries, SilenceEntries
from stream.config.sections.option import OptionSection, option, seconds
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
    offsets_retention: Seconds | None = seconds(
        None,
        "The brokers' `offsets.retention.minutes`, where it cannot be read.",
        shown="read from the brokers",
    )
    offsets_retention_check: Seconds | None = seconds(
        None,
        "The brokers' `offsets.retention.check.interval.ms`, where it cannot be read.",
        shown="read from the brokers",
    )
    asked_per_tick: int = option(
        50,
        "Classic groups that are described per tick, because the log does not show when they rebalance; 0: none.",
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

    @property
    def policies(self) -> GroupPolicies:
        """The owners, maintenance windows and silences."""
        owners: list[tuple[str, dict[str, Any]]] = [
            (entry.groups, entry.model_dump(exclude={"groups"})) for entry in self.owners
        ]
        return GroupPolicies(
            tuple(owners),
            tuple((entry.groups, entry.window) for entry in self.maintenance),
            tuple((entry.groups, entry.silence) for entry in self.silences),
        )


class HealthOptions(OptionSection):
    """The rules that evaluate groups, and their time limits. A group's own commit interval takes precedence."""

    pause: Seconds = seconds(
        45.0,
        "How long any group may make no progress, or longer if it usually does.",
        most=86_400,
    )
    restart_grace: Seconds = seconds(
        30.0,
        "How long a restarting consumer, or the leader of a partition, may be absent.",
        most=86_400,
    )
    static_restart_grace: Seconds = seconds(
        60.0,
        "The same for static members (`group.instance.id`).",
        most=86_400,
    )
    rebalance_limit: Seconds = seconds(
        60.0, "How long a rebalance may take while there are unread records.", most=86_400
    )
    storm_window: Seconds = seconds(600.0, "The time window in which rebalances are counted.", least=60, most=86_400)
    rolling_deploy: Seconds = seconds(
        600.0,
        "How long members may subscribe to the old and to the new topics.",
        most=86_400,
    )
    share_pause: Seconds = seconds(
        300.0,
        "How long records of a share group may wait; longer than `share.record.lock.duration.ms`.",
        most=86_400,
    )
    first_commit_grace: Seconds = seconds(
        360.0,
        "How long the first commit of a partition may take.",
        most=86_400,
    )
    loss_notice: Seconds = seconds(3600.0, "How far ahead the loss of unread records is predicted.", most=604_800)
    expiry_notice: Seconds = seconds(
        86_400.0,
        "How far ahead the expiration of an offset is reported.",
        most=31_536_000,
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
