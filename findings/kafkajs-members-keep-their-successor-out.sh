#!/usr/bin/env bash
# @confluentinc/kafka-javascript cannot join a group that has members of KafkaJS, which it is made to replace.
#
# Guess: its migration guide names the same default, PartitionAssigners.roundRobin, so members of both share one group while a
#   deployment goes through its instances one by one.
# Seen (kafka-javascript 1.10.1 with librdkafka 2.15.1, kafkajs 2.2.4, Kafka 4.3.1): KafkaJS joins with the protocol
#   "RoundRobinAssigner", the other one with "roundrobin". While one member of KafkaJS lives, the coordinator refuses each join of
#   the new client (inconsistent group protocol). connect() and run() of the new client succeed all the same; it asks again
#   and again, and joins after the last member of KafkaJS has left.
# Why it matters: a rolling deployment that waits for the first new instance to consume waits for ever. A monitor of the group
#   sees a healthy group with one member less: the new instance has never been a member, and writes no record.
set -euo pipefail
work=$(mktemp -d)
broker= old= new=
trap 'for each in $old $new $broker; do kill -9 "$each"; wait "$each" || true; done 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
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
# Its binary is built against the libraries of the machine (zlib, OpenSSL, curl) where it cannot be downloaded.
CKJS_LINKING=dynamic npm install --silent --no-fund --no-audit --prefix "$work/node" kafkajs@2.2.4 @confluentinc/kafka-javascript@1.10.1
export NODE_PATH="$work/node/node_modules"
cat >"$work/consume.js" <<'JAVASCRIPT'
const [server, name] = process.argv.slice(2)
const library = require(name)
const { Kafka, logLevel } = library.KafkaJS ?? library
const settings = values => (library.KafkaJS ? { kafkaJS: values } : values)
const kafka = new Kafka(settings({ clientId: library.KafkaJS ? 'new' : 'old', brokers: [server], logLevel: logLevel.ERROR }))
const consumer = kafka.consumer(settings({ groupId: 'g', sessionTimeout: 6000, heartbeatInterval: 1000 }))
process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0)))
const run = async () => {
  await consumer.connect()
  await consumer.subscribe({ topics: ['t'] })
  await consumer.run({ eachMessage: async () => {} })
  console.log('runs')
}
run().catch(error => { console.log(error); process.exit(1) })
JAVASCRIPT
cat >"$work/group.js" <<'JAVASCRIPT'
const { Kafka, logLevel } = require('kafkajs')
const [server, wanted] = process.argv.slice(2)
const admin = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING }).admin()
const show = async () => {
  await admin.connect()
  if (wanted === 'topic') await admin.createTopics({ topics: [{ topic: 't', numPartitions: 2, replicationFactor: 1 }] })
  let text = ''
  for (let tries = 0; wanted !== 'topic' && tries < 240; tries++) {
    const [group] = (await admin.describeGroups(['g'])).groups
    text = `${group.state}, ${group.protocol}: ${group.members.map(member => member.clientId).sort().join(', ')}`
    if (text === wanted) break
    await new Promise(done => setTimeout(done, 500))
  }
  if (text) console.log(text)
  await admin.disconnect()
}
show().catch(error => { console.error(error); process.exit(1) })
JAVASCRIPT
server=127.0.0.1:$port
for _ in $(seq 60); do node "$work/group.js" "$server" topic 2>/dev/null && break || sleep 1; done
refused() { for _ in $(seq 240); do grep -q -i 'inconsistent group protocol' "$1" && echo refused && return || sleep 0.5; done; }
node "$work/consume.js" "$server" kafkajs >"$work/old.log" 2>&1 &
old=$!
node "$work/group.js" "$server" 'Stable, RoundRobinAssigner: old' | tee "$work/seen"
node "$work/consume.js" "$server" @confluentinc/kafka-javascript >"$work/new.log" 2>&1 &
new=$!
echo "the new one: $(refused "$work/new.log"), $(grep runs "$work/new.log")" | tee -a "$work/seen"
node "$work/group.js" "$server" 'Stable, RoundRobinAssigner: old' | tee -a "$work/seen"
kill "$old"
node "$work/group.js" "$server" 'Stable, roundrobin: new' | tee -a "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/new.log"; exit 1; }
Stable, RoundRobinAssigner: old
the new one: refused, runs
Stable, RoundRobinAssigner: old
Stable, roundrobin: new
TEXT
