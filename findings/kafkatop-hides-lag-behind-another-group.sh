#!/usr/bin/env bash
# kafkatop leaves out the lag of a group where another group, earlier in the alphabet, has no offset.
#
# Guess: the lag of a group follows from its own offsets and the ends of its partitions, whatever other groups there are.
# Seen (kafkatop 1.16 with confluent-kafka 2.16.1, Kafka 4.3.1): the ends of a topic are asked once, for those partitions of
#   which the first group has an offset. A group that is 10 behind in the last of four partitions has a lag of 10. Once a
#   group with an earlier name has committed partition 0 only, the same group has one partition and a lag of 0.
# Why it matters: a forgotten test of one partition, or a group that is new, hides the lag of the group that matters, also from
#   the sum and the remaining time. Only the count of partitions changes, and that is small as well where a partition
#   never had a record.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 confluent-kafka==2.16.1 kafkatop==1.16
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
java -jar "$ivy" -cache "$work/ivy" -dependency org.apache.kafka kafka_2.13 4.3.1 -confs default \
  -retrieve "$work/jars/[artifact]-[revision].[ext]" >"$work/ivy.log"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/commit.py" <<'PYTHON'
import sys
import time

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

server, group, *offsets = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": server})


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


if group == "orders":
    patiently(lambda: admin.create_topics([NewTopic("t", 4, 1)])["t"].result())
    producer = Producer({"bootstrap.servers": server})
    for number in range(80):
        producer.produce("t", b"record", partition=number % 4)
    producer.flush()
places = [TopicPartition("t", partition, int(offset)) for partition, offset in enumerate(offsets)]
patiently(lambda: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result())
PYTHON
commit() { "$work/venv/bin/python" "$work/commit.py" "127.0.0.1:$port" "$@" 2>>"$work/commit.log"; }
top() {
  "$work/venv/bin/kafkatop" --kafka-broker "127.0.0.1:$port" --all --summary-json >"$work/top.json" 2>"$work/top.log"
  "$work/venv/bin/python" -c '
import json, sys
topic = json.load(open(sys.argv[1]))["orders"]["topics"]["t"]
print("partitions {partitions}, lag_max {lag_max}".format_map(topic))' "$work/top.json"
}
commit orders 20 20 20 10
{
  echo "orders alone: $(top)"
  commit audit 20
  echo "orders beside audit: $(top)"
} | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/*.log; exit 1; }
orders alone: partitions 4, lag_max 10
orders beside audit: partitions 1, lag_max 0
TEXT
