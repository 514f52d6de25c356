#!/usr/bin/env bash
# Rejected records of a share group are gone without an error where their dead letter queue is missing, or was not opened.
#
# Guess: errors.deadletterqueue.topic.name of a group (KIP-1191) is refused if the topic does not exist, or does not allow dead
#   letters; or a record that cannot be written there stays in flight, or its rejection fails, until the topic is mended.
# Seen (Kafka 4.4.0, Java clients): the setting takes each name: of no topic, and of a topic without
#   errors.deadletterqueue.group.enable. Each of three rejections succeeds for the consumer, as with a queue that works. The
#   group's lag is 0, the queue has nothing, and gets nothing after the topic has been made or opened. Only what is rejected
#   from then on arrives.
# Why it matters: a typing mistake, or one of the two settings on two resources left out, makes a safety net that holds nothing, and
#   the first poisoned records show it when they are lost. Neither lag nor the client's answers tell: what can be compared is
#   the end of the queue with the rejections that the application counts.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
java -jar "$ivy" -cache "$work/ivy" -dependency org.apache.kafka kafka_2.13 4.4.0 -confs default \
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
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/Queue.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

class Queue {
  static Map<String, Object> config;
  static Admin admin;

  static void set(ConfigResource.Type type, String name, String key, String value) throws Exception {
    var change = new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
    admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), List.of(change))).all().get();
  }

  static void send() throws Exception {
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int n = 0; n < 3; n++) producer.send(new ProducerRecord<>("t", "record")).get();
    }
  }

  static void reject(String group) throws Exception {
    var own = new HashMap<String, Object>(config);
    own.putAll(Map.of("group.id", group, "share.acknowledgement.mode", "explicit"));
    int rejected = 0, errors = 0;
    try (var consumer = new KafkaShareConsumer<>(own, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of("t"));
      for (int attempt = 0; attempt < 200 && rejected < 3; attempt++) {
        for (var record : consumer.poll(Duration.ofMillis(200))) {
          consumer.acknowledge(record, AcknowledgeType.REJECT);
          rejected++;
        }
        for (var result : consumer.commitSync().values()) errors += result.isPresent() ? 1 : 0;
      }
    }
    Thread.sleep(3000);
    var offsets = admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(group).get();
    var lag = offsets.get(new TopicPartition("t", 0)).lag();
    System.out.printf("  group %s: rejected %d, errors %d, lag %d, queue %s%n", group, rejected, errors, lag.get(), letters(group));
  }

  static String letters(String topic) throws Exception {
    if (!admin.listTopics().names().get().contains(topic)) return "does not exist";
    var partition = new TopicPartition(topic, 0);
    return "has " + admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset();
  }

  public static void main(String[] args) throws Exception {
    config = Map.of("bootstrap.servers", args[0]);
    admin = Admin.create(config);
    var queues = List.of("dlq.open", "dlq.closed", "dlq.missing");
    for (var name : List.of("t", "dlq.open", "dlq.closed")) admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all().get();
    set(ConfigResource.Type.TOPIC, "dlq.open", "errors.deadletterqueue.group.enable", "true");
    for (var queue : queues) {
      set(ConfigResource.Type.GROUP, queue, "share.auto.offset.reset", "earliest");
      set(ConfigResource.Type.GROUP, queue, "errors.deadletterqueue.topic.name", queue);
    }
    send();
    System.out.println("three records:");
    for (var queue : queues) reject(queue);
    admin.createTopics(List.of(new NewTopic("dlq.missing", 1, (short) 1))).all().get();
    for (var queue : queues) set(ConfigResource.Type.TOPIC, queue, "errors.deadletterqueue.group.enable", "true");
    Thread.sleep(10_000);
    System.out.println("ten seconds after all queues exist and are open:");
    for (var queue : queues) System.out.println("  queue " + queue + " " + letters(queue));
    send();
    System.out.println("three more records:");
    for (var queue : queues) reject(queue);
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Queue.java" "127.0.0.1:$port" 2>"$work/queue.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/queue.log"; exit 1; }
three records:
  group dlq.open: rejected 3, errors 0, lag 0, queue has 3
  group dlq.closed: rejected 3, errors 0, lag 0, queue has 0
  group dlq.missing: rejected 3, errors 0, lag 0, queue does not exist
ten seconds after all queues exist and are open:
  queue dlq.open has 3
  queue dlq.closed has 0
  queue dlq.missing has 0
three more records:
  group dlq.open: rejected 3, errors 0, lag 0, queue has 6
  group dlq.closed: rejected 3, errors 0, lag 0, queue has 3
  group dlq.missing: rejected 3, errors 0, lag 0, queue has 3
TEXT
