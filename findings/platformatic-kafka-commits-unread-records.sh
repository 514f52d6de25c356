#!/usr/bin/env bash
# The auto commit of @platformatic/kafka commits records that the application has not received.
#
# Guess: auto commit trails what the application takes out of the stream, as that of KafkaJS, kafka-python or Java does: at
#   worst the record at work is lost in a crash.
# Seen (@platformatic/kafka 2.12.1, Node 22.23.3, Kafka 4.3.1): the offset behind a fetched batch is due for commit when the batch has
#   arrived, before any of its records is read from the stream. The application holds its first record of 100; 100 is
#   committed. After a kill the next member of the group gets none of the other 99.
# Why it matters: the lag of a slow or stuck application is 0 as soon as its backlog is in its memory, so an alert on lag and
#   an autoscaler see an idle group, and each crash or kill skips a buffer of records without a trace. With the default,
#   auto commit is on.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
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
npm install --silent --no-fund --no-audit --prefix "$work/node" node@22.23.3 @platformatic/kafka@2.12.1
cat >"$work/node/client.mjs" <<'JAVASCRIPT'
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'

const [server, step] = process.argv.slice(2)
const base = { clientId: step, bootstrapBrokers: [server], retries: 60, retryDelay: 500 }
const admin = new Admin(base)
const committed = async () => {
  const [group] = await admin.listConsumerGroupOffsets({ groups: ['g'] })
  return Number(group.topics.find(topic => topic.name === 't')?.partitions[0].committedOffset ?? -1)
}
if (step === 'produce') {
  await admin.createTopics({ topics: ['t'], partitions: 1, replicas: 1 })
  const producer = new Producer({ ...base, serializers: stringSerializers })
  await producer.send({ messages: Array.from({ length: 100 }, (_, number) => ({ topic: 't', key: 'k', value: `${number}` })) })
  process.exit(0)
}
const consumer = new Consumer({ ...base, groupId: 'g', deserializers: stringDeserializers, sessionTimeout: 6000, heartbeatInterval: 500 })
const stream = await consumer.consume({ topics: ['t'], mode: 'committed', fallbackMode: 'earliest' })
if (step === 'hold') {
  const { value } = await stream[Symbol.asyncIterator]().next()
  let offset = -1
  for (let tries = 0; tries < 600 && offset !== 100; tries++) {
    await new Promise(done => setTimeout(done, 100))
    offset = await committed().catch(() => -1)
  }
  console.log(`held: record ${value.offset}, committed: ${offset}`)
  process.kill(process.pid, 'SIGKILL')
}
const producer = new Producer({ ...base, serializers: stringSerializers })
await producer.send({ messages: [{ topic: 't', key: 'k', value: 'new' }] })
const { value } = await stream[Symbol.asyncIterator]().next()
console.log(`the next member begins at record ${value.offset}`)
process.exit(0)
JAVASCRIPT
run() { "$work/node/node_modules/.bin/node" "$work/node/client.mjs" "127.0.0.1:$port" "$1" 2>"$work/$1.log"; }
run produce
{ run hold || true; run next; } | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/*.log; exit 1; }
held: record 0, committed: 100
the next member begins at record 100
TEXT
