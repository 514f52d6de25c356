#!/usr/bin/env bash
# A share group's offset may lie outside the partition: beyond its end it skips records to come, before its start it is lag.
#
# Guess: AlterShareGroupOffsets refuses an offset beyond the end, or the first read finds it out of range and begins by
#   share.auto.offset.reset, as a consumer group's does. The lag that brokers give since 4.2 counts records that exist.
# Seen (Kafka 4.3.1, share consumer of the same release): 1000 is accepted where the log ends at 10, and the answer then has no
#   lag. Consumers get nothing and no error while 990 further records come in; the record at 1000 is the first that they get. An
#   offset of 2 after DeleteRecords has removed everything before 1000 is a lag of 1003 of a log that holds 5 records.
# Why it matters: offsets that were copied from another cluster, or a digit too many, are a silent loss of all that comes in
#   until the log has grown so far, and the group shows no lag meanwhile, which reads as "unknown" or as 0. Where retention
#   passed the group, its lag is too large by all that is gone, until its next read.
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
cat >"$work/Client.java" <<'JAVA'
import java.util.*;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import java.time.Duration;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

class Client {
  static final TopicPartition PART = new TopicPartition("t", 0);
  static Map<String, Object> config;
  static Admin admin;

  static void produce(int count) throws Exception {
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < count; i++) producer.send(new ProducerRecord<>("t", 0, null, "x"));
    }
  }

  static void show(String moment) throws Exception {
    var found = admin.listShareGroupOffsets(Map.of("g", new ListShareGroupOffsetsSpec())).all().get().get("g").get(PART);
    System.out.println(moment + ": start offset " + found.startOffset() + ", lag " + found.lag().map(String::valueOf).orElse("none"));
  }

  static void alter(long offset) throws Exception {
    while (!admin.describeShareGroups(List.of("g")).all().get().get("g").groupState().toString().equals("Empty")) Thread.sleep(100);
    admin.alterShareGroupOffsets("g", Map.of(PART, offset)).all().get();
  }

  public static void main(String[] args) throws Exception {
    config = Map.of("bootstrap.servers", args[0], "group.id", "g");
    admin = Admin.create(config);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    produce(10);
    var text = new StringDeserializer();
    try (var consumer = new KafkaShareConsumer<>(config, text, text)) {  // makes the group
      consumer.subscribe(List.of("t"));
      for (int polls = 0; polls < 25; polls++) consumer.poll(Duration.ofMillis(200));
    }
    alter(1000);
    show("altered to 1000 of 10");
    try (var consumer = new KafkaShareConsumer<>(config, text, text)) {
      consumer.subscribe(List.of("t"));
      int read = 0;
      for (int batch = 0; batch < 9; batch++) {
        produce(110);
        for (int polls = 0; polls < 5; polls++) read += consumer.poll(Duration.ofMillis(200)).count();
      }
      System.out.println("read of the 990 records that came in: " + read);
      produce(5);
      long first = -1;
      while (first < 0) for (var record : consumer.poll(Duration.ofMillis(200))) first = first < 0 ? record.offset() : first;
      System.out.println("first read: " + first);
    }
    alter(2);
    admin.deleteRecords(Map.of(PART, RecordsToDelete.beforeOffset(1000))).all().get();
    show("altered to 2, records 1000 to 1004 left");
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
altered to 1000 of 10: start offset 1000, lag none
read of the 990 records that came in: 0
first read: 1000
altered to 2, records 1000 to 1004 left: start offset 2, lag 1003
TEXT
