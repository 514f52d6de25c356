"""A scrape of `/metrics`, with queries by metric, labels and partition."""

from typing import Final

from prometheus_client.parser import text_string_to_metric_families

Place = tuple[str, str, int]
"""A group, a topic and a partition of it."""


class Metrics:
    """One scrape, read by Prometheus' own client library."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self._samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def rows(self, name: str, **labels: str) -> list[tuple[dict[str, str], float]]:
        """Return (labels, value) of all samples of a metric with these labels."""
        found = [(sample.labels, sample.value) for sample in self._samples if sample.name == name]
        return [(own, value) for own, value in found if labels.items() <= own.items()]

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value of the only sample that matches; None without one. Raises ValueError if several match."""
        found = self.rows(name, **labels)
        if len(found) > 1:
            raise ValueError(f"{name}{labels} is not one sample: {found}")
        return found[0][1] if found else None

    def total(self, name: str, **labels: str) -> float:
        return sum(value for _, value in self.rows(name, **labels))

    def by_place(self, name: str) -> dict[Place, int]:
        return {(own["group"], own["topic"], int(own["partition"])): int(value) for own, value in self.rows(name)}

    def offsets_partitions(self, name: str) -> dict[int, int]:
        """Return a metric per partition of the offsets topic; `name` is the end of the metric name."""
        rows = self.rows(f"lagwarden_offsets_partition_{name}")
        return {int(own["offsets_partition"]): int(value) for own, value in rows}

    @property
    def committed(self) -> dict[Place, int]:
        return self.by_place("lagwarden_partition_committed_offset")

    @property
    def lags(self) -> dict[Place, int]:
        return self.by_place("lagwarden_partition_lag")

    @property
    def groups(self) -> set[str]:
        """The groups of all series."""
        return {sample.labels["group"] for sample in self._samples if "group" in sample.labels}

    @property
    def records_read(self) -> int:
        """Records of the offsets topic read since the process started."""
        return int(self.total("lagwarden_records_read_total"))

    @property
    def snapshot(self) -> float | None:
        """The timestamp of the snapshot (Unix seconds); changes with every tick."""
        return self.value("lagwarden_snapshot_timestamp_seconds")
