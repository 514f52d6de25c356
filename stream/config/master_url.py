"""Spark's master URL: which kind of cluster runs the tasks. Pure; used by the options and by the Spark session.

Spark's own patterns are in `org.apache.spark.SparkMasterRegex`.
"""

import dataclasses
import enum
import re
from typing import Final, Self

_LOCAL: Final = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]")
_STANDALONE: Final = re.compile(r"spark://([^\s/,]+:\d{1,5}(?:,[^\s/,]+:\d{1,5})*)/?")
_KUBERNETES: Final = re.compile(r"k8s://(?:https?://)?([^\s/]+)\S*")
_HTTPS_PORT: Final = 443


class MasterKind(enum.Enum):
    """Where the tasks of the job run."""

    LOCAL = "local"
    """In the driver's JVM."""
    LOCAL_CLUSTER = "local-cluster"
    """In executors that Spark starts on the driver's machine."""
    STANDALONE = "spark"
    """In executors of a standalone cluster."""
    KUBERNETES = "k8s"
    """In executors that Spark starts as pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class MasterUrl:
    """A master URL that lagwarden supports."""

    text: str
    kind: MasterKind
    addresses: tuple[tuple[str, int], ...] = ()
    """Host and port of the masters, or of the API server; empty for a local master."""
    executors: int | None = None
    """The executors of `local-cluster[EXECUTORS,CORES,MEGABYTES]`, of which each has these cores and megabytes."""
    cores: int | None = None
    megabytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the parsed URL. Raises ValueError for any other text."""
        if _LOCAL.fullmatch(text):
            return cls(text, MasterKind.LOCAL)
        if match := _LOCAL_CLUSTER.fullmatch(text):
            executors, cores, megabytes = map(int, match.groups())
            if min(executors, cores, megabytes) == 0:
                raise ValueError(f"{text!r} must have three numbers above 0")
            return cls(text, MasterKind.LOCAL_CLUSTER, (), executors, cores, megabytes)
        if match := _STANDALONE.fullmatch(text):
            return cls(text, MasterKind.STANDALONE, tuple(map(_address, match[1].split(","))))
        if match := _KUBERNETES.fullmatch(text):
            return cls(text, MasterKind.KUBERNETES, (_address(match[1]),))
        raise ValueError(
            f"{text!r} must be local[N], local-cluster[EXECUTORS,CORES,MEGABYTES], spark://HOST:PORT or k8s://URL"
        )

    @property
    def has_executors(self) -> bool:
        """True if the tasks run in other processes than the driver."""
        return self.kind is not MasterKind.LOCAL

    @property
    def is_on_other_machines(self) -> bool:
        """True if executors may run on other machines than the driver."""
        return self.kind in {MasterKind.STANDALONE, MasterKind.KUBERNETES}


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit():
        return text.strip("[]"), _HTTPS_PORT
    return host.strip("[]"), int(port)
