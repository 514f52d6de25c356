"""Reads lagwarden from outside as Prometheus does: one scrape of `/metrics`, parsed by the official client."""

import dataclasses
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

LIMIT: Final = 10.0

PartitionKey = tuple[str, str, int]
"""Group, topic, partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupLine:
    """One group in a scrape; None where the series is absent, which means unknown."""

    group: str
    kind: str
    state: str
    members: int | None
    lag: int | None
    last_commit_at: float | None
    time_lag: float | None = None
    """Seconds since the oldest unread record was written."""
    verdict: str | None = None


class Scrape:
    """The samples of one scrape by metric name."""

    def __init__(self, text: str) -> None:
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def by_partition(self, metric: str) -> dict[PartitionKey, int]:
        """Return a metric with the labels group, topic and partition."""
        found = self._samples.get(metric, [])
        return {(labels["group"], labels["topic"], int(labels["partition"])): int(value) for labels, value in found}

    def by_group(self, metric: str) -> dict[str, float]:
        """Return a metric with the label group."""
        return {labels["group"]: value for labels, value in self._samples.get(metric, [])}

    def group_lines(self) -> list[GroupLine]:
        """Return a line per group, in name order."""
        lags = self.by_group("lagwarden_group_lag")
        members = self.by_group("lagwarden_group_members")
        commits = self.by_group("lagwarden_group_last_commit_timestamp_seconds")
        waiting = self.by_group("lagwarden_group_time_lag_seconds")
        with_verdict = self._samples.get("lagwarden_group_verdict", [])
        verdicts = {labels["group"]: labels["verdict"] for labels, _ in with_verdict}
        lines = (
            GroupLine(
                group=labels["group"],
                kind=labels["kind"],
                state=labels["state"],
                members=_whole(members.get(labels["group"])),
                lag=_whole(lags.get(labels["group"])),
                last_commit_at=commits.get(labels["group"]),
                time_lag=waiting.get(labels["group"]),
                verdict=verdicts.get(labels["group"]),
            )
            for labels, _ in self._samples.get("lagwarden_group_info", [])
        )
        return sorted(lines, key=lambda line: line.group)


def scrape(address: str) -> Scrape:
    """Fetch and parse `/metrics` below an address such as http://127.0.0.1:10848. Raises OSError."""
    return Scrape(_get(f"{address}/metrics"))


def not_ready_because(address: str) -> str | None:
    """Return None when `/readyz` reports ready, else its reasons or the error of the connection."""
    try:
        _get(f"{address}/readyz")
    except urllib.error.HTTPError as refused:
        return "; ".join(_reasons(refused.read().decode(errors="replace"))) or str(refused)
    except OSError as error:
        return str(getattr(error, "reason", error))
    return None


def _reasons(body: str) -> Iterator[str]:
    """Return the sentences of an answer that is not ready, which is JSON or plain text."""
    try:
        answer = json.loads(body)
    except ValueError:
        yield from (line.strip() for line in body.splitlines() if line.strip())
        return
    reasons = answer.get("reasons", answer) if isinstance(answer, dict) else answer
    yield from (str(reason) for reason in (reasons if isinstance(reasons, list) else [reasons]))


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LIMIT) as answer:  # noqa: S310 - http on loopback
        return str(answer.read().decode())


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
