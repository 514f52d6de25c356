#!/usr/bin/env bash
# KafkaJS resets a group to the start by committing -2, which the broker stores and each other client reads in its own way.
#
# Guess: admin.resetOffsets asks for the earliest or latest offset and commits that number. If not, the broker refuses to
#   store a negative offset; OffsetFetch uses -1 for "none".
# Seen (kafkajs 2.2.4, Kafka 4.3.1, confluent-kafka 2.16.1): it commits -2 for the earliest and -1 for the latest offset, as in
#   ListOffsets, and the broker stores both in __consumer_offsets. librdkafka takes a stored -2 for its own name of the
#   beginning and reads from there, also with auto.offset.reset=error; Java's consumer takes it for "none". -1 is "none" for
#   both: a group that was reset to the latest offset begins where auto.offset.reset of its next consumer says.
# Why it matters: end minus such an offset is a lag of more records than the partition has. A reader of the topic must take a
#   negative offset for a commit without a position: not for a number, and not for a tombstone, since the group's retention
#   counts from it. A group that KafkaJS put at the end reads all again by a Java consumer with auto.offset.reset=earliest.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 confluent-kafka==2.16.1
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
cat >"$work/reset.js" <<'JAVASCRIPT'
const { Kafka, logLevel } = require('kafkajs')
const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING, retry: { retries: 20 } })
const reset = async () => {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic: 't', numPartitions: 1 }], waitForLeaders: true })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 't', messages: Array(10).fill({ value: 'x' }) })
  await producer.disconnect()
  for (const earliest of [true, false]) {
    await admin.resetOffsets({ groupId: earliest ? 'earliest' : 'latest', topic: 't', earliest })
  }
  await admin.disconnect()
}
reset().catch(error => { console.error(error); process.exit(1) })
JAVASCRIPT
cat >"$work/Client.java" <<'JAVA'
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

class Client {
  public static void main(String[] args) {
    var bytes = new ByteArrayDeserializer();
    TopicPartition log = new TopicPartition("__consumer_offsets", 0), part = new TopicPartition("t", 0);
    for (String group : List.of("earliest", "latest")) {
      Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", group, "auto.offset.reset", "none",
          "enable.auto.commit", "false");
      try (var consumer = new KafkaConsumer<>(config, bytes, bytes)) {
        consumer.assign(List.of(log));
        consumer.seekToBeginning(List.of(log));
        long end = consumer.endOffsets(List.of(log)).get(log);
        while (consumer.position(log) < end)
          for (var record : consumer.poll(Duration.ofSeconds(1)))
            if (record.key()[1] == 1 && new String(record.key()).contains(group))
              System.out.println(group + ", stored: " + ByteBuffer.wrap(record.value()).getLong(2));
        consumer.assign(List.of(part));
        System.out.println(group + ", Java, none: from " + consumer.position(part));
      } catch (NoOffsetForPartitionException e) {
        System.out.println(group + ", Java, none: no committed offset");
      }
    }
    System.exit(0);
  }
}
JAVA
cat >"$work/read.py" <<'PYTHON'
import sys

from confluent_kafka import Consumer, TopicPartition

for group in ("earliest", "latest"):
    config = {"bootstrap.servers": sys.argv[1], "group.id": group, "auto.offset.reset": "error", "enable.auto.commit": False}
    consumer = Consumer(config)
    consumer.assign([TopicPartition("t", 0)])
    message = consumer.poll(60)
    seen = message.error().name() if message.error() else f"from {message.offset()}"
    print(f"{group}, librdkafka, error: {seen}")
    consumer.close()
PYTHON
NODE_PATH="$work/node/node_modules" node "$work/reset.js" "127.0.0.1:$port"
{
  "${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log"
  "$work/venv/bin/python" "$work/read.py" "127.0.0.1:$port"
} | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
earliest, stored: -2
earliest, Java, none: no committed offset
latest, stored: -1
latest, Java, none: no committed offset
earliest, librdkafka, error: from 0
latest, librdkafka, error: _AUTO_OFFSET_RESET
TEXT
