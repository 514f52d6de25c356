#!/usr/bin/env bash
# kafka-consumer-groups deletes share groups, which it neither lists nor describes.
#
# Guess: share groups have a tool of their own; kafka-consumer-groups refuses a name of another type in each of its actions, as
#   it does in --describe, and kafka-share-groups --delete does with the name of a consumer group.
# Seen (Kafka 4.3.1): --list leaves the share group out, --describe says that it is no consumer group, and --delete with its name
#   deletes it: "Deletion of requested consumer groups ('jobs') was successful". Its offsets, acknowledgements and delivery
#   counts are gone; its next member reads all records again. The other tool refuses a consumer group.
# Why it matters: a script that cleans up consumer groups by a list of names deletes a queue's state, where its author could rely
#   on "not a consumer group". The same request, DeleteGroups, is behind each client's deletion of consumer groups, so
#   the right to delete the one is the right to delete the other.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
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
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/Jobs.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

class Jobs {
  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", "jobs");
    if (args[1].equals("first")) {
      try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
        admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
        admin.alterConsumerGroupOffsets("orders", Map.of(new TopicPartition("t", 0), new OffsetAndMetadata(0))).all().get();
        ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "jobs"),
            List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET)))).all().get();
      }
      try (var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", args[0]), new StringSerializer(), new StringSerializer())) {
        for (int number = 0; number < 10; number++) producer.send(new ProducerRecord<>("t", "record"));
      }
    }
    int read = 0;
    try (var consumer = new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of("t"));
      for (int tries = 0; read < 10 && tries < Integer.parseInt(args[2]); tries++) {
        read += consumer.poll(Duration.ofSeconds(1)).count();
        consumer.commitSync();
      }
    }
    System.out.println(args[1] + " member: " + read + " records");
  }
}
JAVA
jobs() { "${kafka[@]}" "$work/Jobs.java" "127.0.0.1:$port" "$@" 2>"$work/jobs.log"; }
tool() { "${kafka[@]}" "org.apache.kafka.tools.$1" --bootstrap-server "127.0.0.1:$port" "${@:2}" >"$work/tool.log" 2>"$work/tool.err" || true; }
groups() { tool consumer.group.ConsumerGroupCommand "$@"; }
{
  jobs first 60
  jobs second 10
  groups --list
  echo "consumer groups: $(cat "$work/tool.log")"
  groups --describe --group jobs
  echo "described: $(grep -o 'not a consumer group' "$work/tool.log" | head -1)"
  tool consumer.group.ShareGroupCommand --delete --group orders
  echo "share tool deletes orders: $(grep -c -i 'successful' "$work/tool.log")"
  groups --delete --group jobs
  echo "consumer tool deletes jobs: $(grep -c -i 'successful' "$work/tool.log")"
  tool GroupsCommand --list
  echo "groups left: $(grep -o -E '^(orders|jobs) ' "$work/tool.log" | tr -d " " | paste -s -d " ")"
  jobs next 60
} | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/jobs.log "$work"/tool.*; exit 1; }
first member: 10 records
second member: 0 records
consumer groups: orders
described: not a consumer group
share tool deletes orders: 0
consumer tool deletes jobs: 1
groups left: orders
next member: 10 records
TEXT
