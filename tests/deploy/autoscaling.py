"""The examples of docs/autoscaling.md, and the number of replicas that all of them want in some situations."""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "autoscaling.md").read_text()
EXAMPLES: Final[list[dict[str, Any]]] = [
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]
BY_PROMETHEUS, BY_API, ADAPTER, AUTOSCALER = EXAMPLES


class Situation(NamedTuple):
    """The known facts of a group, and the wanted replicas. None is an absent series, and null in the API."""

    name: str
    members: int | None
    scalable_lag: int | None
    time_lag: float | None
    wanted: float | None


SITUATIONS: Final = (
    Situation("lag that more members reduce: a quarter and one more", 4, 5000, 60.0, 6),
    Situation("the same with many members", 20, 5000, 60.0, 26),
    Situation("all lag is in partitions that have a member each: no more members", 4, 0, 600.0, 4),
    Situation("a little lag: the number stays", 4, 1000, 5.0, 4),
    Situation("no old record: a quarter and one less", 4, 0, 0.0, 2),
    Situation("a burst that is read at once: the number stays", 4, 5000, 2.0, 4),
    Situation("no members and lag: the first one is started", 0, 5000, 60.0, 1),
    Situation("one member and nothing to read: none is needed", 1, 0, 0.0, 0),
    Situation("the members are unknown, as in a rebalance", None, 5000, 60.0, None),
    Situation("the scalable lag is unknown, as without a leader", 4, None, 60.0, None),
    Situation("the time lag is unknown", 4, 5000, None, None),
)
