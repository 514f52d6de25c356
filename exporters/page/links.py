"""Links from the page of a group to Grafana and a message browser, where configured, and to the runbook of its verdict.

The configured name of the cluster, which the dashboards select by and all pages show, is here too.
"""

import dataclasses
import urllib.parse
from typing import Final

_ALERTS: Final = {
    "aborting": "LagwardenGroupAborting",
    "expiring": "LagwardenGroupOffsetsExpireSoon",
    "falling_behind": "LagwardenGroupFallingBehind",
    "forgotten": "LagwardenGroupOffsetsForgotten",
    "held_back": "LagwardenGroupHeldBack",
    "losing_data": "LagwardenGroupLosingData",
    "no_leader": "LagwardenGroupNoLeader",
    "no_members": "LagwardenGroupNoMembers",
    "rebalance_storm": "LagwardenGroupRebalanceStorm",
    "rewound": "LagwardenGroupRewound",
    "share_no_members": "LagwardenShareGroupStuck",
    "share_redelivering": "LagwardenShareGroupStuck",
    "share_rejecting": "LagwardenShareGroupRejecting",
    "share_stopped": "LagwardenShareGroupStuck",
    "skipped": "LagwardenGroupSkipped",
    "truncated": "LagwardenGroupTruncated",
    "two_applications": "LagwardenGroupShared",
    "two_committers": "LagwardenGroupShared",
}
"""The alerts of single verdicts."""
_OTHERS: Final = {"critical": "LagwardenGroupStuck", "warning": "LagwardenGroupUneven"}
"""The alert of all other verdicts, by severity."""


NEXT_RECORD: Final = "next record"
"""What links to the message browser are named."""


def alert_of_verdict(verdict: str | None, severity: str | None) -> str | None:
    """Return the name of the alert for a verdict of this severity; None if it raises none."""
    if verdict is None or severity not in _OTHERS:
        return None
    return _ALERTS.get(verdict, _OTHERS[severity])


@dataclasses.dataclass(frozen=True, slots=True)
class PageLinks:
    """The base URLs without a slash at their end, what commands name, and the name of the cluster.

    Without a `runbook_url`, runbooks are pages of lagwarden. `command_config` is the file with the TLS and SASL
    settings of Kafka's tools. None: not configured, or not needed.
    """

    grafana_url: str | None = None
    runbook_url: str | None = None
    bootstrap_servers: tuple[str, ...] = ()
    command_config: str | None = None
    cluster_name: str | None = None
    messages_url: str | None = None
    """A URL with `{topic}`, `{partition}` and `{offset}`."""
    external_url: str | None = None
    """The address of these pages, for links from elsewhere."""

    def dashboard(self, group: str) -> str | None:
        """Return the URL of the dashboard of a group."""
        if self.grafana_url is None:
            return None
        chosen = {"group": group} | ({} if self.cluster_name is None else {"cluster": self.cluster_name})
        variables = "&".join(f"var-{name}={urllib.parse.quote(value, safe='')}" for name, value in chosen.items())
        return f"{self.grafana_url}/d/lagwarden-group?{variables}"

    def page(self, group: str) -> str | None:
        """Return the whole URL of the page of a group."""
        return self.external_url and f"{self.external_url}/group?name={urllib.parse.quote(group, safe='')}"

    def message(self, topic: str, partition: int, offset: object) -> str | None:
        """Return the URL of the record at an offset in the message browser; None also if the offset is not known."""
        if self.messages_url is None or not isinstance(offset, int):
            return None
        return self.messages_url.format(topic=urllib.parse.quote(topic, safe=""), partition=partition, offset=offset)

    def runbook(self, verdict: str | None, severity: str | None, root: str) -> str | None:
        """Return the URL of the runbook for a verdict, None if it raises no alert. `root` as in `Page`."""
        alert = alert_of_verdict(verdict, severity)
        return None if alert is None else f"{self.runbook_url or f'{root}runbook'}/{alert}"
