#!/usr/bin/env bash
# The lag that librdkafka reports stands still while a partition is paused.
#
# Guess: consumer_lag in the statistics is the partition's end minus the committed offset at the time of the statistics. The
#   client asks the broker for offsets while statistics are on, so the lag grows while records come in and none is read.
# Seen (confluent-kafka 2.16.1 with librdkafka 2.16.0 and its own mock broker): the end is known from fetches only, and a paused
#   partition is not fetched. Its lag stays at 0 while 1000 records come in, through twenty further statistics; it is 1000
#   right after resume(). A partition that was paused before its first fetch has a lag of -1 and an end of -1001 throughout.
# Why it matters: applications pause what they cannot keep up with. The worse it gets, the better the lag looks that comes from
#   the client, in dashboards made of statistics and in scaling by them; only the broker's end and the commits show it.
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
PART = TopicPartition("t", 0)


def produce(count):
    for _ in range(count):
        producer.produce("t", b"x", partition=0)
    producer.flush(30)


class Reader:
    def __init__(self, group):
        self.seen = []
        config = {"group.id": group, "enable.auto.commit": False, "statistics.interval.ms": 200, "stats_cb": self.keep}
        self.consumer = Consumer({**server, **config})

    def keep(self, text):
        found = json.loads(text).get("topics", {}).get("t", {}).get("partitions", {}).get("0")
        if found:
            self.seen.append((found["consumer_lag"], found["hi_offset"]))

    def after(self, statistics):
        """Return the last lag and end after so many further statistics."""
        goal = len(self.seen) + statistics
        while len(self.seen) < goal:
            self.consumer.poll(0.1)
        return self.seen[-1]

    def until(self, wanted):
        """Return the first lag and end for which this holds, or the last after 300 statistics."""
        for _ in range(300):
            found = self.after(1)
            if wanted(*found):
                break
        return found


produce(10)
reader, late = Reader("g"), Reader("h")
reader.consumer.assign([TopicPartition("t", 0, 0)])
for _ in range(10):
    while reader.consumer.poll(1) is None:
        pass
reader.consumer.commit(offsets=[TopicPartition("t", 0, 10)], asynchronous=False)
print("read and committed 10 of 10: lag %d, end %d" % reader.until(lambda lag, end: lag == 0))
reader.consumer.pause([PART])
produce(1000)
print("paused, 1000 more: lag %d, end %d" % reader.after(20))
print("the broker's end: %d" % late.consumer.get_watermark_offsets(PART, 30)[1])
reader.consumer.resume([PART])
print("resumed: lag %d, end %d" % reader.until(lambda lag, end: end == 1010))
late.consumer.commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
late.consumer.assign([PART])
late.consumer.pause([PART])
print("paused before the first fetch: lag %d, end %d" % late.after(20))
late.consumer.close()
reader.consumer.close()
PYTHON
"$work/venv/bin/python" "$work/lag.py" 2>"$work/log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/log"; exit 1; }
read and committed 10 of 10: lag 0, end 10
paused, 1000 more: lag 0, end 10
the broker's end: 1010
resumed: lag 1000, end 1010
paused before the first fetch: lag -1, end -1001
TEXT
