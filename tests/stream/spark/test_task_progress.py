"""Progress datagrams: the driver receives the positions of its tasks and ignores everything else."""

import contextlib
import queue
import socket
from collections.abc import Mapping

import pytest

from stream.spark import task_progress
from stream.spark.task_progress import ProgressReceiver, ProgressSender

POSITIONS = {0: 40, 1: 10}
FOREIGN = (
    *(b"", b"\xff\x00", b"[1, 2]", b"null", b"[" * 60_000, b'{"0": ' * 10_000),
    *(b'{"a": 1}', *(b'{"0": %s}' % value for value in (b'"b"', b"null", b"1e999", b"NaN", b"-1", b"true", b"[]"))),
    b'{"0": 9223372036854775808}',
)
"""Datagrams that no task sends."""


def test_positions_are_received_and_other_datagrams_are_ignored() -> None:
    """A progress datagram arrives as numbers; any other content changes nothing and does not end the receiver."""
    received: queue.Queue[Mapping[int, int]] = queue.Queue()
    with (
        contextlib.closing(ProgressReceiver("127.0.0.1", 0, received.put)) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as task,
    ):
        token = receiver.token.encode()
        for message in (token + b'{"3": 17}', *(token + each for each in FOREIGN), token + b'{"4": 18, "5": 2}'):
            task.sendto(message, ("127.0.0.1", receiver.port))
        assert [received.get(timeout=5), received.get(timeout=5)] == [{3: 17}, {4: 18, 5: 2}]
    assert received.empty()


def test_a_datagram_without_the_token_of_this_start_is_ignored() -> None:
    """Any user of the machine can send to the port, and would keep the watchdog from seeing that nothing is read."""
    received: queue.Queue[Mapping[int, int]] = queue.Queue()
    receivers = [ProgressReceiver("127.0.0.1", 0, received.put) for _ in range(2)]
    with contextlib.closing(receivers[0]) as receiver, contextlib.closing(receivers[1]) as other:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as task:
            for token in ("", other.token, receiver.token[:-1], receiver.token):
                task.sendto(token.encode() + b'{"3": 17}', ("127.0.0.1", receiver.port))
        assert received.get(timeout=5) == {3: 17}
    assert received.empty()


def test_reports_within_the_interval_are_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent within the interval. The next report has all positions since the last one."""
    received: queue.Queue[Mapping[int, int]] = queue.Queue()
    with contextlib.closing(ProgressReceiver("127.0.0.1", 0, received.put)) as receiver:
        monkeypatch.setattr(task_progress, "SEND_INTERVAL", 3600.0)
        with contextlib.closing(ProgressSender("127.0.0.1", receiver.port, receiver.token)) as sender:
            sender.add(POSITIONS)
            monkeypatch.setattr(sender, "_next_send", 0.0)
            sender.add({1: 12})
        assert received.get(timeout=5) == {0: 40, 1: 12}
    assert received.empty()


def test_a_report_that_cannot_be_sent_does_not_prevent_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that is too large for a datagram is dropped. The next report is received without its positions.

    An address that cannot be reached is no error, and the report is dropped.
    """
    monkeypatch.setattr(task_progress, "SEND_INTERVAL", 0.0)
    with contextlib.closing(ProgressSender("256.0.0.1", 9, "token")) as sender:
        sender.add(POSITIONS)
        assert sender._positions == {}
    received: queue.Queue[Mapping[int, int]] = queue.Queue()
    with contextlib.closing(ProgressReceiver("127.0.0.1", 0, received.put)) as receiver:
        with contextlib.closing(ProgressSender("127.0.0.1", receiver.port, receiver.token)) as sender:
            sender.add(dict.fromkeys(range(10_000), 1))
            sender.add(POSITIONS)
        assert received.get(timeout=5) == POSITIONS
