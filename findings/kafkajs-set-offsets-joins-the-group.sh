#!/usr/bin/env bash
# KafkaJS's admin client sets offsets by joining the group as a consumer.
#
# Guess: admin.setOffsets is one OffsetCommit, as in other admin clients. A group that only ever committed stays as it was.
# Seen (kafkajs 2.2.4, Kafka 4.3.1, kafka-python 3.0.12 to read the records): it subscribes a consumer of the group, becomes
#   its leader, commits, and stays for five more seconds, until a fetch has ended. A group that held nothing but a plain
#   commit is a group of protocol type "consumer" afterwards, with an Empty record that counts a generation more.
# Why it matters: each reset is a join and a leave in __consumer_offsets: a monitor sees a member that is assigned the whole
#   topic and goes. The retention of the group's offsets changes as well: those of a plain group age from their commits, of
#   an emptied one from the moment at which it became empty, so one reset of one partition renews all its offsets.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 kafka-python==3.0.12
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
npm install --silent --no-fund --no-audit --prefix "$work/node" kafkajs@2.2.4
cat >"$work/records.py" <<'PYTHON'
import struct
import sys
import time

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

server, step = sys.argv[1:3]
LOG = TopicPartition("__consumer_offsets", 0)


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


def shown(record):
    kind = struct.unpack_from(">h", record.key)[0]
    if kind == 1:
        return f"commit of offset {struct.unpack_from('>q', record.value, 2)[0]}"
    length = struct.unpack_from(">h", record.value, 2)[0]
    name = record.value[4 : 4 + length].decode()
    return f"group record: protocol type '{name}', generation {struct.unpack_from('>i', record.value, 4 + length)[0]}"


if step == "commit":
    admin = patiently(lambda: KafkaAdminClient(bootstrap_servers=server))
    patiently(lambda: admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}}))
    patiently(lambda: admin.alter_group_offsets("g", {TopicPartition("t", 0): OffsetAndMetadata(0, "", -1)}))
consumer = patiently(lambda: KafkaConsumer(bootstrap_servers=server))
consumer.assign([LOG])
end = consumer.end_offsets([LOG])[LOG]
consumer.seek_to_beginning(LOG)
while consumer.position(LOG) < end:
    for record in consumer.poll(1000).get(LOG, []):
        print(shown(record))
PYTHON
cat >"$work/set.js" <<'JAVASCRIPT'
const { Kafka, logLevel } = require('kafkajs')
const admin = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING }).admin()
const set = async () => {
  await admin.connect()
  await admin.setOffsets({ groupId: 'g', topic: 't', partitions: [{ partition: 0, offset: '5' }] })
  await admin.disconnect()
}
set().catch(error => { console.error(error); process.exit(1) })
JAVASCRIPT
{
  echo "before:" && "$work/venv/bin/python" "$work/records.py" "127.0.0.1:$port" commit
  NODE_PATH="$work/node/node_modules" node "$work/set.js" "127.0.0.1:$port"
  echo "after:" && "$work/venv/bin/python" "$work/records.py" "127.0.0.1:$port" show
} | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || exit 1
before:
commit of offset 0
after:
commit of offset 0
group record: protocol type 'consumer', generation 1
commit of offset 5
group record: protocol type 'consumer', generation 2
TEXT
