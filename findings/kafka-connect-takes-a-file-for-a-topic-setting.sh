#!/usr/bin/env bash
# A distributed Connect worker that names the file of a standalone one starts or not, depending on whether its topic exists.
#
# Guess: offset.storage.file.filename belongs to the standalone mode; a distributed worker ignores it as it ignores every
#   setting that it does not know, with a warning at most.
# Seen (Kafka 4.3.1): each setting below offset.storage. that the worker does not know itself goes to the topic of its offsets
#   as a topic setting, here "file.filename". It is sent only with the request that makes the topic. A worker whose topic
#   exists starts without a word about it; a worker that has to make the topic stops: "Unknown topic config name".
# Why it matters: a worker file that serves both modes, or an old line left in it, works in a cluster for years and fails where
#   the difference is hard to see: in a new cluster, a disaster recovery, a test, or with another name for the
#   topic.
set -euo pipefail
work=$(mktemp -d)
broker= worker=
trap 'for each in $worker $broker; do kill -9 "$each"; wait "$each" || true; done 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
cat >"$work/ivy.xml" <<'XML'
<ivy-module version="2.0">
  <info organisation="finding" module="connect"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="4.3.1" conf="default"/>
    <dependency org="org.apache.kafka" name="connect-runtime" rev="4.3.1" conf="default"/>
    <dependency org="org.slf4j" name="slf4j-simple" rev="1.7.36" conf="default"/>
  </dependencies>
</ivy-module>
XML
java -jar "$ivy" -cache "$work/ivy" -ivy "$work/ivy.xml" -retrieve "$work/jars/[artifact]-[revision].[ext]" >"$work/ivy.log"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
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
# start TOPIC LINE: runs a worker with a line more in its file until it has joined its group or has ended
start() {
  cat >"$work/worker.properties" <<PROPERTIES
bootstrap.servers=127.0.0.1:$port
group.id=workers-$1
listeners=http://127.0.0.1:$(free_port)
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=configs
config.storage.replication.factor=1
status.storage.topic=status
status.storage.replication.factor=1
status.storage.partitions=1
offset.storage.topic=$1
offset.storage.replication.factor=1
offset.storage.partitions=1
$2
PROPERTIES
  "${kafka[@]}" org.apache.kafka.connect.cli.ConnectDistributed "$work/worker.properties" >"$work/worker.log" 2>&1 &
  worker=$!
  local outcome=neither
  for _ in $(seq 480); do
    if grep -q 'Joined group' "$work/worker.log"; then outcome=joined; break; fi
    if ! kill -0 "$worker" 2>/dev/null; then outcome="ended, $(grep -o -m 1 'Unknown topic config name: .*' "$work/worker.log")"; break; fi
    sleep 0.5
  done
  kill -9 "$worker" 2>/dev/null || true
  wait "$worker" 2>/dev/null || true
  worker=
  echo "topic $1, line \"$2\": $outcome"
}
file=offset.storage.file.filename=/tmp/connect.offsets
{ start old ""; start old "$file"; start new "$file"; start new ""; } | tee "$work/seen"
diff "$work/seen" - <<TEXT || { tail -20 "$work/worker.log"; exit 1; }
topic old, line "": joined
topic old, line "$file": joined
topic new, line "$file": ended, Unknown topic config name: file.filename
topic new, line "": joined
TEXT
