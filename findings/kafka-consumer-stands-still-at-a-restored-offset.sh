#!/usr/bin/env bash
# A Java consumer stands still at an offset that was saved and put back, where consumers of other libraries read on.
#
# Guess: the leader epoch beside a committed offset (KIP-320) is a hint to notice a truncated log. One that the partition never had
#   says nothing about its log, so it is left out or the partition begins by auto.offset.reset; in any case with a log line.
# Seen (Kafka 4.3.1, Java clients, confluent-kafka 2.16.1 with librdkafka 2.16.0, kafka-python 3.0.12): offsets of a group are
#   saved with an admin client, their topic is made again and filled, and what was saved is given to alterConsumerGroupOffsets as
#   it is: offset 4, epoch 2. The new topic is in epoch 0, so Java's consumer takes every answer about its leader for an old
#   one and waits: assigned, no record, no exception, position() times out, in both protocols and whatever
#   metadata.max.age.ms. Once restarts of the broker have raised the epoch it reads on from 4. The same offset without the epoch
#   is read at once, and librdkafka and kafka-python read it with the epoch too.
# Why it matters: the objects that one call returns and the next one takes move a group to another cluster, or into a topic made
#   again, with this epoch in them. The group is Stable and has all its partitions, lag grows and nothing is committed, as if
#   the application hung; its restart changes nothing, and a restart of a broker mends it for no visible reason. Whether a
#   partition stands depends on how often its leader had changed before, so some of a topic's partitions go on.
set -euo pipefail
work=$(mktemp -d)
broker=
reader=
trap 'for each in $reader $broker; do { kill -9 "$each"; wait "$each"; } 2>/dev/null || true; done; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 confluent-kafka==2.16.1 kafka-python==3.0.12
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
start() {
  "${kafka[@]}" kafka.Kafka "$work/server.properties" >>"$work/broker.log" 2>&1 &
  broker=$!
  for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
}
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
start
cat >"$work/Reader.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

class Reader {
  static final TopicPartition PARTITION = new TopicPartition("t", 0);
  static Map<String, Object> config;
  static Admin admin;

  static void make() throws Exception {
    for (int attempt = 0; ; attempt++) {
      try {
        admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
        break;
      } catch (Exception deletionIsNotOver) {
        if (attempt > 60) throw deletionIsNotOver;
        Thread.sleep(500);
      }
    }
  }

  static void fill() throws Exception {
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int n = 0; n < 10; n++) producer.send(new ProducerRecord<>("t", "record")).get();
    }
  }

  static KafkaConsumer<String, String> member(String group, String protocol) {
    var own = new HashMap<String, Object>(config);
    own.putAll(Map.of("group.id", group, "group.protocol", protocol, "auto.offset.reset", "earliest", "max.poll.records", "4",
        "enable.auto.commit", "false", "metadata.max.age.ms", "1000"));
    var consumer = new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of("t"));
    return consumer;
  }

  static String first(KafkaConsumer<String, String> consumer, int seconds) {
    for (long end = System.nanoTime() + seconds * 1_000_000_000L; System.nanoTime() < end; )
      for (var record : consumer.poll(Duration.ofMillis(200))) return "first record " + record.offset();
    return "no record, assigned " + consumer.assignment().size();
  }

  public static void main(String[] args) throws Exception {
    config = Map.of("bootstrap.servers", args[0]);
    admin = Admin.create(config);
    switch (args[1]) {
      case "make" -> make();
      case "commit" -> {
        fill();
        try (var consumer = member("first", "classic")) {
          System.out.println("commits: " + first(consumer, 60));
          consumer.commitSync();
        }
      }
      case "restore" -> {
        var saved = admin.listConsumerGroupOffsets("first").partitionsToOffsetAndMetadata().get();
        System.out.println("saved: " + saved);
        admin.deleteTopics(List.of("t")).all().get();
        make();
        fill();
        for (var group : List.of("first", "classic", "consumer", "librdkafka", "kafka-python"))
          admin.alterConsumerGroupOffsets(group, saved).all().get();
        var plain = Map.of(PARTITION, new OffsetAndMetadata(saved.get(PARTITION).offset()));
        for (var group : List.of("classic-plain", "consumer-plain")) admin.alterConsumerGroupOffsets(group, plain).all().get();
        for (var protocol : List.of("classic", "consumer"))
          for (var suffix : List.of("-plain", ""))
            try (var consumer = member(protocol + suffix, protocol)) {
              System.out.println("Java, " + protocol + suffix + ": " + first(consumer, 10));
            }
      }
      case "wait" -> {
        try (var consumer = member("first", "classic")) {
          System.out.println("ready");
          System.out.println(first(consumer, 120));
        }
      }
    }
  }
}
JAVA
cat >"$work/others.py" <<'PYTHON'
import sys

from confluent_kafka import Consumer
from kafka import KafkaConsumer

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "librdkafka", "auto.offset.reset": "earliest"})
consumer.subscribe(["t"])
message = consumer.poll(30)
print("librdkafka:", "first record", message.offset() if message and not message.error() else message)
consumer.close()
consumer = KafkaConsumer("t", bootstrap_servers=sys.argv[1], group_id="kafka-python", consumer_timeout_ms=30_000)
print("kafka-python:", "first record", next(consumer).offset)
consumer.close()
PYTHON
client() { "${kafka[@]}" "$work/Reader.java" "127.0.0.1:$port" "$1" 2>>"$work/client.log"; }
restart() {
  kill "$broker"
  wait "$broker" || true
  start
}
{
  client make
  restart
  client commit
  client restore
  "$work/venv/bin/python" "$work/others.py" "127.0.0.1:$port" 2>>"$work/client.log"
} >"$work/seen" || true
"${kafka[@]}" "$work/Reader.java" "127.0.0.1:$port" wait >"$work/waits" 2>>"$work/client.log" &
reader=$!
for _ in $(seq 60); do grep -q ready "$work/waits" && break || sleep 1; done
sleep 10
echo "after ten seconds: $(tail -n 1 "$work/waits")" >>"$work/seen"
restart
wait "$reader" || true
echo "after a restart of the broker: $(tail -n 1 "$work/waits")" | cat "$work/seen" - | tee "$work/all"
diff "$work/all" - <<'TEXT' || { tail -n 20 "$work/client.log"; exit 1; }
commits: first record 0
saved: {t-0=OffsetAndMetadata{offset=4, leaderEpoch=2, metadata=''}}
Java, classic-plain: first record 4
Java, classic: no record, assigned 1
Java, consumer-plain: first record 4
Java, consumer: no record, assigned 1
librdkafka: first record 4
kafka-python: first record 4
after ten seconds: ready
after a restart of the broker: first record 4
TEXT
