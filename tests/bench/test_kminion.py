"""The comparison with KMinion: the condition for its measurement, and for a correct answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench import kminion
from bench.kminion import lag_differences
from bench.oracle import final_state
from bench.traffic import Traffic

if TYPE_CHECKING:
    from pathlib import Path

TRAFFIC = Traffic(2_000, groups=10, partitions_per_group=2, topics=1)


def exposition(wrong: int = 0) -> str:
    """Return KMinion's lags of all partitions; the first `wrong` ones are one too high."""
    wanted = final_state(TRAFFIC)
    lines = []
    for key in range(TRAFFIC.keys):
        if wanted.alive[key]:
            group, partition = divmod(key, TRAFFIC.partitions_per_group)
            labels = f'group_id="{TRAFFIC.group(group)}",partition_id="{partition}",topic_name="{TRAFFIC.topic(group)}"'
            lag = TRAFFIC.log_end - wanted.offset[key] + (len(lines) < wrong)
            lines.append(f"kminion_kafka_consumer_group_topic_partition_lag{{{labels}}} {lag}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_wrong_lags_are_counted(wrong: int) -> None:
    """Each partition is compared with the oracle."""
    assert lag_differences(exposition(wrong), final_state(TRAFFIC), TRAFFIC) == wrong


def test_missing_partitions_are_wrong() -> None:
    """Each partition that the exposition does not have is a difference."""
    wanted = final_state(TRAFFIC)
    assert lag_differences("", wanted, TRAFFIC) == int(wanted.alive.sum())


def test_comparison_is_left_out_without_a_binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable names the binary. A wrong name is an error, so that the comparison is not left out silently."""
    monkeypatch.delenv(kminion.VARIABLE, raising=False)
    assert kminion.binary() is None
    monkeypatch.setenv(kminion.VARIABLE, str(tmp_path / "kminion"))
    with pytest.raises(FileNotFoundError, match="is not a file"):
        kminion.binary()
    (tmp_path / "kminion").touch()
    assert kminion.binary() == tmp_path / "kminion"
