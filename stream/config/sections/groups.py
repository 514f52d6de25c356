"""The history and the evaluation of groups."""

from typing import Any

from stream.config.ownership import GroupPolicies, MaintenanceEntries, OwnerEntries, SilenceEntries
from stream.config.sections.option import OptionSection, experimental, option, seconds
from stream.config.values import Patterns, Seconds


class GroupsOptions(OptionSection):
    """The history kept per group, requests about groups that the log cannot answer, owners, and muted alerts."""

    dead_grace: Seconds = seconds(
        3600.0, "How long a removed group stays visible, with its cause and history.", least=0, most=604_800
    )
    history: int = option(32, "Latest transitions, and verdict changes, kept per group.", ge=1, le=1000)
    offsets_retention: Seconds | None = seconds(
        None,
        "The brokers' `offsets.retention.minutes`, where it cannot be read.",
        shown="read from the brokers",
        most=None,
    )
    offsets_retention_check: Seconds | None = seconds(
        None,
        "The brokers' `offsets.retention.check.interval.ms`, where it cannot be read.",
        shown="read from the brokers",
        most=None,
    )
    asked_per_tick: int = option(
        50,
        "Classic groups that are described per tick, because the log does not show when they rebalance; 0: none.",
        ge=0,
        le=10_000,
    )
    mirrored: Patterns = experimental(
        (), "Patterns of groups whose offsets another program copies here, such as MirrorMaker 2 (docs/health.md)."
    )
    owners: OwnerEntries = experimental(
        (),
        "Owners: `{groups: PATTERN, team: …, tier: …, link: …, max_severity: …}`; the first match applies"
        " (docs/alerting.md).",
    )
    maintenance: MaintenanceEntries = experimental(
        (),
        "Windows without alerts: `{groups: PATTERN, from: TIME, to: TIME}` or `{groups: PATTERN, days: [sat, sun], at:"
        ' "22:30", for: 2h, timezone: Europe/Berlin}` (docs/alerting.md).',
    )
    silences: SilenceEntries = experimental(
        (),
        "Groups without alerts: `{groups: PATTERN, reason: TEXT}`, with `until: TIME` if it ends by itself"
        " (docs/alerting.md).",
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

    pause: Seconds = seconds(45.0, "How long any group may make no progress, or longer if it usually does.")
    restart_grace: Seconds = seconds(
        30.0, "How long a restarting consumer, or the leader of a partition, may be absent."
    )
    static_restart_grace: Seconds = seconds(60.0, "The same for static members (`group.instance.id`).")
    rebalance_limit: Seconds = seconds(60.0, "How long a rebalance may take while there are unread records.")
    storm_window: Seconds = seconds(600.0, "The time window in which rebalances are counted.", least=60)
    rolling_deploy: Seconds = seconds(600.0, "How long members may subscribe to the old and to the new topics.")
    share_pause: Seconds = seconds(
        300.0, "How long records of a share group may wait; longer than `share.record.lock.duration.ms`."
    )
    first_commit_grace: Seconds = seconds(360.0, "How long the first commit of a partition may take.")
    loss_notice: Seconds = seconds(3600.0, "How far ahead the loss of unread records is predicted.", most=604_800)
    expiry_notice: Seconds = seconds(
        86_400.0, "How far ahead the expiration of an offset is reported.", most=31_536_000
    )
    day_one: Seconds = seconds(
        86_400.0,
        "Faults older than lagwarden, and those of groups without members and commits for this long, raise no alert"
        " (docs/alerting.md).",
        least=0,
        most=31_536_000,
        experimental=True,
    )
    end_points: int = option(48, "Points in the history of an end offset, 16 bytes each.", ge=8, le=1000)
