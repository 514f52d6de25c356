"""Tests of open transactions: three steps, each of which may fail."""

import datetime as dt
from typing import Any

from stream.cluster.open_transactions import OPEN_TRANSACTIONS, read_open_transactions
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, SILENT, TOO_OLD, ScriptedCluster, says

TOPIC = "__consumer_offsets"
PARTITIONS = [says(partition_index=p, leader_id=leader, leader_epoch=0) for p, leader in enumerate((1, 2, -1, 1))]
METADATA = says(topics=[says(name=TOPIC, error_code=0, partitions=PARTITIONS)])


def moment(seconds: int) -> dt.datetime:
    """Return a time as Arrow does."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).replace(tzinfo=None)


def producer(number: int, start: int = 40, written: int = 5_000) -> Any:
    """Return a producer of a partition; a start of -1 means that no transaction is open."""
    return says(producer_id=number, producer_epoch=3, last_timestamp=written, current_txn_start_offset=start)


def producers(of: dict[int, list[Any]], errors: dict[int, int] | None = None) -> Any:
    """Answer as a leader, in reverse order."""
    described = [says(partition_index=p, error_code=0, active_producers=some) for p, some in reversed(of.items())]
    described += [says(partition_index=p, error_code=code, active_producers=[]) for p, code in (errors or {}).items()]
    return says(topics=[says(name=TOPIC, partitions=described)])


def listed(*known: tuple[int, str], error: int = 0) -> Any:
    """Answer as a coordinator that knows these producers."""
    states = [says(producer_id=number, transactional_id=name) for number, name in known]
    return says(error_code=error, transaction_states=states)


def about(name: str, number: int, state: str = "Ongoing", partitions: tuple[int, ...] = (0, 1), error: int = 0) -> Any:
    return says(
        error_code=error,
        transactional_id=name,
        transaction_state=state,
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=4_000,
        producer_id=number,
        producer_epoch=3,
        topics=[says(topic="other", partitions=[0, 1, 3]), says(topic=TOPIC, partitions=list(partitions))],
    )


class World:
    """Two brokers with answers of leaders, of coordinators and about transactions, each of which can be replaced."""

    def __init__(self) -> None:
        self.leaders: list[dict[int, Any]] = [{1: producers({0: [producer(7)], 3: []}), 2: producers({1: []})}]
        self.coordinators: dict[int, Any] = {1: listed(), 2: listed((7, "payments"))}
        self.described: Any = says(transaction_states=[about("payments", 7)])
        self.cluster = ScriptedCluster(
            {
                "Metadata": lambda *_: METADATA,
                "DescribeProducersRequest": self._producers,
                "ListTransactionsRequest": lambda node, _: self.coordinators[node or 0],
                "DescribeTransactionsRequest": lambda *_: self.described,
            }
        )

    def _producers(self, node: int | None, _: Any) -> Any:
        asked = self.cluster.count("DescribeProducersRequest")
        return self.leaders[min(asked, len(self.leaders)) - 1][node or 0]

    def read(self, *partitions: int) -> list[dict[str, Any]]:
        """Read the open transactions as rows."""
        table = read_open_transactions(self.cluster, TOPIC, partitions)  # type: ignore[arg-type]
        assert table.schema == OPEN_TRANSACTIONS
        table.validate(full=True)
        return table.to_pylist()  # type: ignore[no-any-return]


def test_an_open_transaction_is_described_completely() -> None:
    """All columns of the row are known; a partition without an open transaction causes no request to a coordinator."""
    world = World()
    leader = {"partition": 0, "start_offset": 40, "producer_id": 7, "producer_epoch": 3, "last_write_time": moment(5)}
    coordinator = {"coordinator": 2, "transactional_id": "payments", "state": "Ongoing", "start_time": moment(4)}
    assert world.read(0) == [leader | coordinator | {"timeout_ms": 60_000, "hanging": False, "error": None}]
    assert [node for node, _ in world.cluster.asked] == [None, 1, 1, 2, 2]
    world = World()
    assert world.read(1, 3) == []
    assert world.cluster.count("ListTransactionsRequest") == 0


def test_the_oldest_transaction_is_the_first_row() -> None:
    """Producers without an open transaction have no row and are not looked up."""
    world = World()
    world.leaders = [{1: producers({0: [producer(7, 90), producer(9, -1), producer(8, 30)]})}]
    world.coordinators = {1: listed((8, "batch")), 2: listed((7, "payments"))}
    states = {"payments": about("payments", 7), "batch": about("batch", 8)}
    world.cluster._answers["DescribeTransactionsRequest"] = lambda _, request: says(
        transaction_states=[states[name] for name in request.transactional_ids]
    )
    rows = [(row["start_offset"], row["producer_id"], row["transactional_id"], row["hanging"]) for row in world.read(0)]
    assert rows == [(30, 8, "batch", False), (90, 7, "payments", False)]
    asked = [request for _, request in world.cluster.asked if type(request).__name__ == "ListTransactionsRequest"]
    assert [request.producer_id_filters for request in asked] == [[7, 8], [7, 8]]


def test_a_transaction_hangs_if_its_coordinator_will_not_end_it() -> None:
    """A transaction is marked as hanging only after a second request to the leader."""
    rows = {
        "open at its coordinator": (about("payments", 7), False),
        "prepared to abort at its coordinator": (about("payments", 7, "PrepareAbort"), False),
        "ended at its coordinator": (about("payments", 7, "CompleteCommit"), True),
        "partition unknown to its coordinator": (about("payments", 7, partitions=(1,)), True),
        "transactional id with another producer": (about("payments", 8), True),
    }
    for name, (described, hanging) in rows.items():
        world = World()
        world.described = says(transaction_states=[described])
        assert (name, [row["hanging"] for row in world.read(0)]) == (name, [hanging])
        assert world.cluster.count("DescribeProducersRequest") == 1 + hanging


def test_a_producer_without_transactional_id_has_a_reason() -> None:
    """The leader's values are kept; `hanging` is null."""
    rows: list[tuple[Any, Any, str]] = [
        (listed(), listed(), "not_found"),
        (AWAY, listed(), "unreachable"),
        (listed(), SILENT, "timed_out"),
        (TOO_OLD, TOO_OLD, "unsupported"),
        (listed(error=14), listed(), "coordinator_loading"),
    ]
    for first, second, error in rows:
        world = World()
        world.coordinators = {1: first, 2: second}
        (row,) = world.read(0)
        assert (row["producer_id"], row["start_offset"], row["transactional_id"]) == (7, 40, None)
        assert (row["hanging"], row["error"]) == (None, error)
        assert world.cluster.count("DescribeTransactionsRequest") == 0


def test_a_transaction_that_cannot_be_described() -> None:
    """A transaction without a description keeps its transactional id and has a reason."""
    rows: list[tuple[Any, str]] = [
        (AWAY, "unreachable"),
        (says(transaction_states=[about("payments", 7, error=53)]), "not_authorized"),
        (says(transaction_states=[about("payments", 7, error=16)]), "coordinator_changed"),
        (says(transaction_states=[]), "other"),
    ]
    for described, error in rows:
        world = World()
        world.described = described
        (row,) = world.read(0)
        assert (row["transactional_id"], row["coordinator"], row["state"]) == ("payments", 2, None)
        assert (row["hanging"], row["error"]) == (None, error)


def test_a_partition_without_an_answer_has_a_reason() -> None:
    """A partition without an answer does not affect the others; it is not one without open transactions."""
    world = World()
    world.leaders = [{1: producers({0: [producer(7)]}, {3: 29}), 2: AWAY}]
    rows = {row["partition"]: (row["producer_id"], row["error"]) for row in world.read(3, 2, 1, 0, 9, 0)}
    reasons = {1: ErrorReason.UNREACHABLE, 2: ErrorReason.NO_LEADER, 3: ErrorReason.NOT_AUTHORIZED}
    assert rows == {0: (7, None), 9: (None, ErrorReason.NOT_FOUND)} | {p: (None, why) for p, why in reasons.items()}
    world = World()
    world.leaders = [{1: says(topics=[])}]
    assert [(row["partition"], row["error"]) for row in world.read(0)] == [(0, "other")]
