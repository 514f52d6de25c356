"""Verdict changes and transitions as Parquet, read back by pandas."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from exporters.http.event_stream.response import RecentEvents
from stream.checkpoint.usage import HISTORY, SideFiles
from stream.groups.lifecycle.model import GroupHistory, Transition, TransitionType
from stream.service import ticker
from stream.service.ticker import HistoryFiles
from stream.tick.context import UNKNOWN_CLUSTER
from stream.webhook.announcer import VerdictAnnouncer
from tests.exporters.snapshots import verdicts_snapshot as shown

STATE = SimpleNamespace(histories={"a": GroupHistory("classic", "Empty", 1, 1, None, {}, ())})


def test_rows_are_on_disk_after_each_tick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has at most an hour and a number of rows; a failed write is counted, and its rows are written later."""
    monkeypatch.setattr(ticker, "MOST_ROWS", 3)
    files, announcer, folder = SideFiles(), VerdictAnnouncer(RecentEvents(), "c1"), tmp_path / "history"
    history = HistoryFiles(folder, "c1", files)

    def add(seconds: float, verdict: str, *positions: int) -> None:
        events = announcer.announce(shown(a=verdict), lambda _: None)
        emptied = [("a", Transition(TransitionType.EMPTIED, 1_000, each, live=True, left=2)) for each in positions]
        facts = SimpleNamespace(cluster=UNKNOWN_CLUSTER, taken_at=seconds)
        derived: Any = SimpleNamespace(facts=facts, state=STATE)
        history.add(events, emptied, derived, 50)

    def read(table: str) -> pd.DataFrame:
        return pd.read_parquet(folder / table).sort_values(["time", *(["position"] if table == "events" else [])])

    add(1.0, "stalled", 1, 2)
    add(10.0, "stalled", 3)
    assert [*read("events")["position"]] == [1, 2, 3]
    assert len([*folder.rglob("*.parquet")]) == 2, "one for each table"

    folder.rename(tmp_path / "away")
    folder.touch()
    add(20.0, "ok", 4)
    folder.unlink()
    (tmp_path / "away").rename(folder)
    add(90_000.0, "ok")
    add(180_000.0, "stopped")
    assert dict(zip(*files.table().to_pydict().values(), strict=True))[HISTORY] == 2
    events, verdicts = read("events"), read("verdicts")
    assert [*events["position"]] == [1, 2, 3, 4]
    assert {*zip(events["cluster"], events["kind"], events["event"], strict=True)} == {("c1", "classic", "emptied")}
    assert [*verdicts["verdict"]] == ["stalled", "ok", "stopped"]
    assert {*verdicts["day"]} == {"1970-01-01", "1970-01-03"}
