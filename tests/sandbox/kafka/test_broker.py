"""A broker that cannot start, or that lacks a class, is an error with the broker's log."""

from pathlib import Path

import pytest

from sandbox.kafka.broker import Broker, BrokerError
from tests.conftest import MakeBroker


def test_missing_class_in_the_log_is_an_error(tmp_path: Path) -> None:
    """The log of a broker is checked for missing classes: without a jar, a broker fails only when it needs the jar."""
    broker = Broker(tmp_path)
    broker.log.write_text("INFO started\nERROR java.lang.NoClassDefFoundError: org/apache/kafka/Remote\n")
    with pytest.raises(BrokerError, match=r"a jar is missing .* org/apache/kafka/Remote"):
        broker.check_log()


@pytest.mark.kafka
def test_broker_that_cannot_start_shows_its_log(make_broker: MakeBroker) -> None:
    """An invalid property gives one error that quotes the broker's log."""
    with pytest.raises(BrokerError, match=r"num\.io\.threads"):
        make_broker(properties={"num.io.threads": "none"})
