#!/usr/bin/env bash
# A broker confirms a leader epoch of which its log has nothing any more.
#
# Guess: OffsetForLeaderEpoch (KIP-320) tells a reader whether what it read is still there. A log that lost every record of
#   an epoch does not know this epoch, and answers what it answers for any unknown one: epoch -1, end offset -1.
# Seen (Kafka 4.3.1, KRaft, one broker, kafka-python 3.0.12 for the request): the partition's folder is removed while the
#   broker is down. The broker starts without an error, leads the partition again and takes records. Asked for the epoch
#   that was read, it answers without an error with that same epoch; only the end offset, 0, is below what was read. An
#   epoch above all that it has is -1 and -1.
# Why it matters: the end offset of the log grows past what was read within seconds, and then looks right. A check that
#   compares epochs, or takes only "unknown" for a loss, goes on with positions of records that never were.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || kill -9 "$broker" 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kafka-python==3.0.12 pyspark==4.3.0
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
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -cp "$work/jars/*")
start() {
  "${kafka[@]}" kafka.Kafka "$work/server.properties" >>"$work/broker.log" 2>&1 &
  broker=$!
}
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log"
cat >"$work/client.py" <<'PYTHON'
import sys
import time

from kafka import KafkaAdminClient, KafkaProducer
from kafka.protocol.consumer import OffsetForLeaderEpochRequest as Request

server, step = sys.argv[1:3]


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


producer = patiently(lambda: KafkaProducer(bootstrap_servers=server))
for _ in range(10 if step == "read" else 20):
    patiently(lambda: producer.send("t", b"x", partition=0).get(10))
if step == "again":
    admin = patiently(lambda: KafkaAdminClient(bootstrap_servers=server))
    topic = Request.OffsetForLeaderTopic
    for epoch in (0, 99):
        row = topic.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=epoch)
        request = Request(replica_id=-1, topics=[topic(topic="t", partitions=[row])], min_version=3)
        part = patiently(lambda: admin._manager.run(admin._manager.send, request, 1)).topics[0].partitions[0]
        print(f"asked {epoch}: error {part.error_code}, epoch {part.leader_epoch}, end {part.end_offset}")
PYTHON
start
"$work/venv/bin/python" "$work/client.py" "127.0.0.1:$port" read
kill "$broker" && wait "$broker" || true
rm -r "$work/data/t-0"
start
seen=$("$work/venv/bin/python" "$work/client.py" "127.0.0.1:$port" again)
echo "$seen"
[ "$seen" = "asked 0: error 0, epoch 0, end 0
asked 99: error 0, epoch -1, end -1" ] || { echo "changed"; exit 1; }
