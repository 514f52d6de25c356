#!/usr/bin/env bash
# A consumer that was busy while its topic was deleted and made again goes on in the new topic at its old position.
#
# Guess: topics have ids since Kafka 2.8, fetches name them since 3.1, and the deletion removes the group's offsets. A consumer
#   sees another id, drops its position, finds no committed offset and begins where auto.offset.reset says.
# Seen (Kafka 4.3.1, Java consumer of the same release, both group protocols, auto.offset.reset=earliest): 50 records read and
#   committed; while the application works on them the topic is deleted, made again and gets 200 records. The offset is gone,
#   as it should. The next polls return 150 records, from offset 50 of the new topic, and 200 is committed.
# Why it matters: 50 records are lost without an error, a warning or a step back. In __consumer_offsets the tombstone of the
#   deletion is followed by a commit far from the start, with the id of the new topic; lag falls to 0 and everything looks well.
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
kafka=(java -Xmx256m -cp "$work/jars/*")
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
import org.apache.kafka.common.serialization.*;

class Client {
  static Admin admin;

  static String offset(String group) throws Exception {
    var found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    return found.isEmpty() ? "none" : "" + found.values().iterator().next().offset();
  }

  static boolean make(String topic) throws Exception {
    for (int tries = 0; tries < 120; tries++)  // the deletion of the old one may not have ended
      try {
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        return true;
      } catch (Exception e) {
        Thread.sleep(500);
      }
    return false;
  }

  static void produce(String topic, int count, Map<String, Object> config) throws Exception {
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < count; i++) producer.send(new ProducerRecord<>(topic, 0, null, "x")).get();
    }
  }

  public static void main(String[] args) throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", args[0]));
    for (String protocol : List.of("classic", "consumer")) {
      String topic = "t-" + protocol, group = "g-" + protocol;
      Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", group, "group.protocol", protocol,
          "auto.offset.reset", "earliest", "enable.auto.commit", "false");
      make(topic);
      produce(topic, 50, config);
      try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
        consumer.subscribe(List.of(topic));
        for (int read = 0; read < 50; ) read += consumer.poll(Duration.ofMillis(500)).count();
        consumer.commitSync();
        System.out.println(protocol + ": committed " + offset(group));
        admin.deleteTopics(List.of(topic)).all().get();
        while (!offset(group).equals("none")) Thread.sleep(100);
        make(topic);
        produce(topic, 200, config);
        int read = 0;
        long first = -1, last = -1;
        while (last < 199)
          for (var record : consumer.poll(Duration.ofMillis(500))) {
            if (read++ == 0) first = record.offset();
            last = record.offset();
          }
        consumer.commitSync();
        System.out.println(protocol + ": read " + read + " of 200, from offset " + first + ", committed " + offset(group));
      }
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
classic: committed 50
classic: read 150 of 200, from offset 50, committed 200
consumer: committed 50
consumer: read 150 of 200, from offset 50, committed 200
TEXT
