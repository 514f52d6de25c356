#!/usr/bin/env bash
# Partitions added to __consumer_offsets take groups' offsets away at the next restart of a broker, not before.
#
# Guess: a group's partition is its hash modulo the partition count, so Kafka refuses more partitions for this topic; or it
#   accepts them, and every group whose partition changes has lost its offsets at once.
# Seen (Kafka 4.3.1, one broker, kafka-python 3.0.12, a topic of 4 partitions to which 4 are added): CreatePartitions
#   succeeds without a warning, and for as long as the broker runs nothing changes: offsets are answered, commits are kept.
#   After its restart half of the groups have no offset. OffsetFetch gives no error for them, and ListGroups still lists
#   them, from the old partition. After their next commit ListGroups lists them twice, also after another restart.
# Why it matters: the change looks harmless when it is made, and weeks later, at an unrelated restart, consumers begin at
#   auto.offset.reset. A reader of the topic meets two partitions with records of one group, of which only one is right, and
#   later tombstones in the other one; a tool that counts the answers of ListGroups counts such groups twice.
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
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
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

from kafka import KafkaAdminClient, TopicPartition
from kafka.structs import OffsetAndMetadata

server = sys.argv[1]
GROUPS = [f"g{number}" for number in range(16)]
AT = TopicPartition("t", 0)


def patiently(call):
    for _ in range(120):
        try:
            return call(admin)
        except Exception:
            time.sleep(0.5)
    return call(admin)


def has_offset(group):
    found = patiently(lambda admin: admin.list_group_offsets({group: [AT]}))[group]
    return AT in found and found[AT].offset == 3


def show(moment):
    known = sum(map(has_offset, GROUPS))
    listed = [each["group_id"] for each in patiently(lambda admin: admin.list_groups())]
    print(f"{moment}: {known} of 16 groups have an offset, {len(set(listed))} are listed, {len(listed)} times")


for _ in range(120):
    try:
        admin = KafkaAdminClient(bootstrap_servers=server)
        break
    except Exception:
        time.sleep(0.5)
for step in sys.argv[2:]:
    if step == "create":
        patiently(lambda admin: admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}}))
    elif step == "commit":
        for group in GROUPS:
            patiently(lambda admin: admin.alter_group_offsets(group, {AT: OffsetAndMetadata(3, "", -1)}))
    elif step == "add":
        admin.create_partitions({"__consumer_offsets": 8})
        time.sleep(3)
    else:
        show(step)
PYTHON
client() { "$work/venv/bin/python" "$work/client.py" "127.0.0.1:$port" "$@"; }
restart() {
  kill "$broker" && wait "$broker" || true
  start
}
start
seen=$(client create commit first add added)
restart
seen+=$'\n'$(client restarted commit committed)
restart
seen+=$'\n'$(client again)
echo "$seen"
[ "$seen" = "first: 16 of 16 groups have an offset, 16 are listed, 16 times
added: 16 of 16 groups have an offset, 16 are listed, 16 times
restarted: 10 of 16 groups have an offset, 16 are listed, 16 times
committed: 16 of 16 groups have an offset, 16 are listed, 22 times
again: 16 of 16 groups have an offset, 16 are listed, 22 times" ] || { echo "changed"; exit 1; }
