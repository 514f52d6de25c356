"""The transactional group of the traffic: its offsets take effect only when their transaction is committed."""

import threading
from typing import Final

from confluent_kafka import KafkaException, Producer, TopicPartition

from sandbox.clients.members import REQUEST_TIMEOUT, Member, transactional_producer
from sandbox.demo.behaviours import TrafficGroup
from sandbox.demo.groups import DemoGroup

ABORT_EVERY: Final = 5


class TransactionalGroup(TrafficGroup):
    """Writes a record per record read and commits the offsets in the same transaction; aborts some and reads again."""

    member_count = 1

    def __init__(self, bootstrap: str, row: DemoGroup, group: str, topic: str, output: str) -> None:
        self._output = output
        self._producer: Producer | None = None
        super().__init__(bootstrap, row, group, topic)

    def new_member(self, number: int) -> Member:
        """See TrafficGroup."""
        member = Member(self.bootstrap, self.name, self.row.kind, number=number, isolated=True)
        member.consumer.subscribe([self.topic])
        return member

    def process(self, member: Member) -> bool:
        """See TrafficGroup."""
        previous = dict(member.positions)
        records = member.read(self.records_per_turn)
        offsets = member.owned_positions()
        if not records or not offsets:
            return False
        aborting = self.turns % ABORT_EVERY == 0
        try:
            self._transact_in_time(member, len(records), offsets, aborting=aborting)
        except (KafkaException, TimeoutError):
            # Whatever failed, a new producer with the same id fences the previous one and aborts its transaction.
            self._producer = None
            raise
        # The commit is answered before the markers are written, and offsets take effect only then. A read_committed
        # consumer requests stable offsets, which the broker returns once none is pending.
        member.consumer.committed(offsets, timeout=REQUEST_TIMEOUT)
        if aborting:
            for (topic, partition), position in previous.items():
                member.seek(topic, partition, position)
        return not aborting

    def _transact_in_time(self, member: Member, records: int, offsets: list[TopicPartition], *, aborting: bool) -> None:
        """Run the transaction in a thread that can be abandoned. Raises TimeoutError.

        When the broker stops within send_offsets_to_transaction, librdkafka (2.16) may wait for the group's coordinator
        for ever, whatever its time-out.
        """
        failed: list[KafkaException] = []

        def transact() -> None:
            try:
                self._transact(member, records, offsets, aborting=aborting)
            except KafkaException as error:
                failed.append(error)

        thread = threading.Thread(target=transact, daemon=True)
        thread.start()
        thread.join(2 * REQUEST_TIMEOUT)
        if thread.is_alive():
            raise TimeoutError(f"the transaction of {self.name} did not end")
        if failed:
            raise failed[0]

    def _transact(self, member: Member, records: int, offsets: list[TopicPartition], *, aborting: bool) -> None:
        producer = self._producer or self._new_producer()
        producer.begin_transaction()
        for number in range(records):
            producer.produce(self._output, f"from {self.name}", partition=number % 2)
        producer.send_offsets_to_transaction(offsets, member.consumer.consumer_group_metadata(), REQUEST_TIMEOUT)
        if aborting:
            producer.abort_transaction(REQUEST_TIMEOUT)
        else:
            producer.commit_transaction(REQUEST_TIMEOUT)

    def _new_producer(self) -> Producer:
        self._producer = transactional_producer(self.bootstrap, self.name, timeout_ms=10_000)
        return self._producer
