#!/usr/bin/env bash
# librdkafka's statistics keep the lag of partitions that went to another member, as it was, for as long as the client lives.
#
# Guess: consumer_lag is that of the client's own partitions. One that a rebalance has taken away leaves the statistics, or has
#   a lag of -1 there, as partitions have that the client never owned.
# Seen (confluent-kafka 2.16.1 with librdkafka 2.16.0 and its own mock broker, assignor range): the first member owned four
#   partitions with a lag of 6 each when a second one took two. The new owner has read and committed them, lag 0; the old one
#   reports 6 for each in every further statistics. Its row differs from a living one in fetch_state, "stopped", only.
# Why it matters: a sum or a maximum over all instances of an application counts these partitions twice, and shows a lag that
#   never ends after a scale-out or a rolling restart, while the group has read everything.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check confluent-kafka==2.16.1
cat >"$work/lag.py" <<'PYTHON'
import json

from confluent_kafka import Consumer, Producer, TopicPartition

mock = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 2})
broker = next(iter(mock.list_topics(timeout=30).brokers.values()))
server = {"bootstrap.servers": f"{broker.host}:{broker.port}", "log_level": 2}
producer = Producer(server)
for number in range(40):
    producer.produce("t", b"x", partition=number % 4)
producer.flush(30)


class Member:
    def __init__(self):
        self.rows, self.count = {}, 0
        config = {"group.id": "g", "enable.auto.commit": False, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
        own = {"statistics.interval.ms": 200, "stats_cb": self.keep, "heartbeat.interval.ms": 500}
        self.consumer = Consumer({**server, **config, **own, "partition.assignment.strategy": "range"})
        self.consumer.subscribe(["t"])

    def keep(self, text):
        rows = json.loads(text).get("topics", {}).get("t", {}).get("partitions", {})
        self.rows = {name: (row["consumer_lag"], row["fetch_state"]) for name, row in rows.items() if name != "-1"}
        self.count += 1

    def owned(self):
        return [str(part.partition) for part in self.consumer.assignment()]

    def commit(self, offset):
        parts = [TopicPartition("t", int(name), offset) for name in self.owned()]
        self.consumer.commit(offsets=parts, asynchronous=False)

    def show(self, name):
        for own, names in (("own", self.owned()), ("other", sorted(set(self.rows) - set(self.owned())))):
            print(f"{name}, {own} partitions: {len(names)}", [self.rows[each] for each in names])


def poll_until(done, *members):
    for _ in range(1200):
        for member in members:
            member.consumer.poll(0.05)
        if done():
            return


old = Member()
poll_until(lambda: len(old.owned()) == 4, old)
old.commit(4)
poll_until(lambda: [lag for lag, _ in old.rows.values()] == [6] * 4, old)
old.show("before")
new = Member()
poll_until(lambda: len(old.owned()) == 2 and len(new.owned()) == 2, old, new)
new.commit(10)
poll_until(lambda: all(new.rows.get(name, (1,))[0] == 0 for name in new.owned()), old, new)
goal = old.count + 20
poll_until(lambda: old.count >= goal, old, new)
old.show("old member")
new.show("new member")
old.consumer.close()
new.consumer.close()
PYTHON
"$work/venv/bin/python" "$work/lag.py" 2>"$work/log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/log"; exit 1; }
before, own partitions: 4 [(6, 'active'), (6, 'active'), (6, 'active'), (6, 'active')]
before, other partitions: 0 []
old member, own partitions: 2 [(6, 'active'), (6, 'active')]
old member, other partitions: 2 [(6, 'stopped'), (6, 'stopped')]
new member, own partitions: 2 [(0, 'active'), (0, 'active')]
new member, other partitions: 2 [(-1, 'none'), (-1, 'none')]
TEXT
