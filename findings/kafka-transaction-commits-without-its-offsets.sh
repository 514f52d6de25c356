#!/usr/bin/env bash
# A transaction commits its records without its offsets, and without an error, where the offsets were changed while it was open.
#
# Guess: records and offsets of a transaction appear together when it is committed, so its offset wins over each commit that came
#   before its end; or the change is refused while a transaction holds the offset, or the transaction fails.
# Seen (Kafka 4.3.1, Java clients, groups without members): a transaction has sent a record and the offset 8, and is open. A
#   commit of 5 by an admin client, the deletion of the offset and the deletion of the group all succeed at once, and so does
#   commitTransaction() afterwards. Its record is there for readers of committed records. The group is at 5, or nowhere: an
#   offset counts from the place of its record in the log, not from the marker that makes it valid.
# Why it matters: an exactly-once application that assigns its partitions itself has no members that would keep a tool out, and
#   after such a moment it writes the same results again. A reader of __consumer_offsets that applies a transaction's
#   offsets when its marker comes shows 8 where the broker answers 5, and revives a group that was deleted.
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
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/Client.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;

class Client {
  static Admin admin;
  static final TopicPartition PART = new TopicPartition("t", 0);

  interface Change { KafkaFuture<Void> make(String group); }

  static KafkaFuture<Void> commit(String group, long offset) {
    return admin.alterConsumerGroupOffsets(group, Map.of(PART, new OffsetAndMetadata(offset))).all();
  }

  static String offset(String group) throws Exception {
    var found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(PART);
    return found == null ? "none" : "" + found.offset();
  }

  @SuppressWarnings("removal")
  static ConsumerGroupMetadata named(String group) {
    return new ConsumerGroupMetadata(group);
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0], "transactional.id", "x");
    admin = Admin.create(config);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    Map<String, Change> changes = new LinkedHashMap<>();
    changes.put("untouched", group -> KafkaFuture.completedFuture(null));
    changes.put("committed at 5", group -> commit(group, 5));
    changes.put("offset deleted", group -> admin.deleteConsumerGroupOffsets(group, Set.of(PART)).all());
    changes.put("group deleted", group -> admin.deleteConsumerGroups(List.of(group)).all());
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      producer.initTransactions();
      for (var change : changes.entrySet()) {
        String group = change.getKey();
        commit(group, 3).get();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("t", 0, null, group)).get();
        producer.sendOffsetsToTransaction(Map.of(PART, new OffsetAndMetadata(8)), named(group));
        change.getValue().make(group).get();
        producer.commitTransaction();
        // Of the same producer, so the markers of the one before are written when it has begun: its offsets are settled.
        producer.beginTransaction();
        producer.sendOffsetsToTransaction(Map.of(PART, new OffsetAndMetadata(1)), named("other"));
        producer.commitTransaction();
        System.out.println(group + ": " + offset(group));
      }
    }
    config = Map.of("bootstrap.servers", args[0], "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(List.of(PART));
      consumer.seek(PART, 0);
      List<String> values = new ArrayList<>();
      while (values.size() < changes.size()) for (var record : consumer.poll(Duration.ofSeconds(1))) values.add(record.value());
      System.out.println("committed records: " + values);
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/client.log"; exit 1; }
untouched: 8
committed at 5: 5
offset deleted: none
group deleted: none
committed records: [untouched, committed at 5, offset deleted, group deleted]
TEXT
