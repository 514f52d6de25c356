"""Errors of Kafka's tools."""

import pytest

from sandbox.kafka import tools
from sandbox.kafka.broker import Broker


@pytest.mark.kafka
def test_error_with_exit_code_zero_is_an_error(broker: Broker) -> None:
    """The tool reports a missing group on standard output with exit code 0; the call raises ToolError."""
    with pytest.raises(tools.ToolError, match="GroupIdNotFoundException"):
        tools.consumer_groups(broker.bootstrap, "--describe", "--group", "missing")
