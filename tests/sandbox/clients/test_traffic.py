"""The number of records of a flow."""

from __future__ import annotations

import pytest

from sandbox.clients.traffic import Flow


@pytest.mark.parametrize(
    ("flow", "time", "records"),
    [
        pytest.param(Flow(20.0), 10.0, 200, id="steady"),
        pytest.param(Flow(20.0), 0.4, 0, id="before the first pulse"),
        pytest.param(Flow(40.0, every=30.0), 59.0, 1_200, id="bursts"),
        pytest.param(Flow(1 / 24, every=24.0), 48.0, 2, id="rare records"),
        pytest.param(Flow(100.0, start=60.0, until=72.0), 100.0, 1_200, id="for a limited time"),
    ],
)
def test_a_flow_writes_in_pulses(flow: Flow, time: float, records: int) -> None:
    """The number of records is that of the pulses so far."""
    assert flow.written(time) == records
