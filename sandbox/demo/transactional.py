"""The transactional group of the living traffic: offsets that count only when their transaction is committed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, Producer

from sandbox.clients.members import REQUEST_TIMEOUT, Member, client_config
from sandbox.demo.behaviours import TrafficGroup

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition

    from sandbox.demo.groups import DemoGroup

ABORT_EVERY: Final = 5


class TransactionalGroup(TrafficGroup):
    """Writes what it read and commits the offsets in the same transaction; aborts some and reads those again."""

    crew = 1

    def __init__(self, bootstrap: str, fate: DemoGroup, group: str, topic: str, output: str) -> None:
        self._output = output
        self._producer: Producer | None = None
        super().__init__(bootstrap, fate, group, topic)

    def recruit(self, number: int) -> Member:
        """See Group."""
        member = Member(self.bootstrap, self.name, self.fate.kind, number=number, isolated=True)
        member.consumer.subscribe([self.topic])
        return member

    def work(self, member: Member) -> bool:
        """See Group."""
        before = dict(member.positions)
        records = member.read(self.appetite)
        offsets = member.owned_positions()
        if not records or not offsets:
            return False
        aborting = self.turns % ABORT_EVERY == 0
        try:
            self._transact_in_time(member, len(records), offsets, aborting=aborting)
        except (KafkaException, TimeoutError):
            # Whatever broke it, a new producer with the same id fences the old one and aborts what it left open.
            self._producer = None
            raise
        # The answer comes before the markers are written, and offsets count only then. Of a read_committed consumer
        # the broker is asked for stable offsets: it answers once none is pending.
        member.consumer.committed(offsets, timeout=REQUEST_TIMEOUT)
        if aborting:
            for (topic, partition), position in before.items():
                member.go_back(topic, partition, position)
        return not aborting

    def _transact_in_time(self, member: Member, records: int, offsets: list[TopicPartition], *, aborting: bool) -> None:
        """Do the transaction in a thread that can be given up. Raises TimeoutError.

        When the broker dies within send_offsets_to_transaction, librdkafka (2.16) may wait for the group's coordinator
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
        config = client_config(self.bootstrap) | {"transactional.id": self.name, "transaction.timeout.ms": 10_000}
        producer = Producer(config)
        producer.init_transactions(REQUEST_TIMEOUT)
        self._producer = producer
        return producer
