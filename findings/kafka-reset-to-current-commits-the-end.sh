#!/usr/bin/env bash
# kafka-consumer-groups --reset-offsets --to-current commits the end of partitions for which there is no current offset.
#
# Guess: "reset offsets to current offset" is the one scenario that changes nothing: what is committed is committed again.
# Seen (Kafka 4.3.1): of a topic of two partitions with ten records each the group has committed partition 0, at 4, with
#   metadata and a leader epoch. After --to-current --topic t the same offset stands there without metadata and without
#   epoch; and partition 1, of which nothing was read yet, is committed at its end, 10.
# Why it matters: a consumer with auto.offset.reset=earliest would have read the ten records; now they count as read, and lag
#   goes from unknown to 0. Clients that keep their own state in the metadata, Kafka Streams its stream time and Confluent's
#   parallel consumer the records that it did out of order, start without it. All offsets of the topic are as good as new
#   for the retention.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 kafka-python==3.0.12
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
for artifact in kafka_2.13 kafka-tools; do
  java -jar "$ivy" -cache "$work/ivy" -dependency org.apache.kafka "$artifact" 4.3.1 -confs default \
    -retrieve "$work/jars/[artifact]-[revision].[ext]" >"$work/ivy.log"
done
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
cat >"$work/client.py" <<'PYTHON'
import sys
import time

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

server, step = sys.argv[1:3]
PARTS = [TopicPartition("t", 0), TopicPartition("t", 1)]


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


admin = patiently(lambda: KafkaAdminClient(bootstrap_servers=server))
if step == "before":
    patiently(lambda: admin.create_topics({"t": {"num_partitions": 2, "replication_factor": 1}}))
    producer = patiently(lambda: KafkaProducer(bootstrap_servers=server))
    for part in PARTS * 10:
        patiently(lambda: producer.send("t", b"x", partition=part.partition).get(10))
    patiently(lambda: admin.alter_group_offsets("g", {PARTS[0]: OffsetAndMetadata(4, "state", 0)}))
found = patiently(lambda: admin.list_group_offsets({"g": PARTS}))["g"]
for part in PARTS:
    print(f"{step}, partition {part.partition}: offset {found[part].offset}, '{found[part].metadata}', epoch {found[part].leader_epoch}")
PYTHON
{
  "$work/venv/bin/python" "$work/client.py" "127.0.0.1:$port" before
  "${kafka[@]}" org.apache.kafka.tools.consumer.group.ConsumerGroupCommand --bootstrap-server "127.0.0.1:$port" \
    --reset-offsets --to-current --group g --topic t --execute >"$work/tool.log" 2>&1
  "$work/venv/bin/python" "$work/client.py" "127.0.0.1:$port" after
} | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/tool.log"; exit 1; }
before, partition 0: offset 4, 'state', epoch 0
before, partition 1: offset -1, '', epoch -1
after, partition 0: offset 4, '', epoch -1
after, partition 1: offset 10, '', epoch -1
TEXT
