#!/usr/bin/env bash
# Kafka's look-ups by time answer with a transaction's marker, at which there is no record to read.
#
# Guess: ListOffsets by timestamp (offsetsForTimes, --to-datetime) and by MAX_TIMESTAMP (KIP-734) speak of records. A marker
#   is none, no consumer ever sees it, so it does not count, whatever the time that the broker gave it.
# Seen (Kafka 4.3.1, one broker): three records with timestamps of long ago in a committed transaction. The newest timestamp
#   is that of the marker, now, at offset 3, where nothing can be read. The first record at or after a time later than all
#   records is the marker as well, not "none". While the transaction is open both answers are right.
# Why it matters: "now minus the newest timestamp" says that a topic is fresh although its newest record is old, and a lag in
#   seconds that is found by time is that of a marker's clock, the broker's, mixed with the records' clock, the producer's.
#   A reset to a time after the last record commits an offset before the end: a lag of 1 that no reading removes.
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
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

class Client {
  static Admin admin;
  static final TopicPartition PART = new TopicPartition("t", 0);

  static String ask(OffsetSpec spec) throws Exception {
    var found = admin.listOffsets(Map.of(PART, spec)).all().get().get(PART);
    String time = found.timestamp() < 0 ? "none" : found.timestamp() < 10_000 ? found.timestamp() + " ms" : "the present";
    return found.offset() < 0 ? "none" : "offset " + found.offset() + ", time " + time;
  }

  static void show(String moment) throws Exception {
    System.out.println(moment + ": newest timestamp: " + ask(OffsetSpec.maxTimestamp()));
    System.out.println(moment + ": first at or after 5000 ms: " + ask(OffsetSpec.forTimestamp(5000)));
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0], "transactional.id", "x");
    admin = Admin.create(config);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      for (long time = 1000; time < 1003; time++) producer.send(new ProducerRecord<>("t", 0, time, null, "x")).get();
      show("open");
      producer.commitTransaction();
    }
    while (admin.listOffsets(Map.of(PART, OffsetSpec.latest())).all().get().get(PART).offset() < 4) Thread.sleep(100);
    show("committed");
    config = Map.of("bootstrap.servers", args[0], "auto.offset.reset", "none");
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(List.of(PART));
      consumer.seek(PART, 0);
      long last = -1;
      while (consumer.position(PART) < 4) for (var record : consumer.poll(java.time.Duration.ofSeconds(1))) last = record.offset();
      System.out.println("last record: offset " + last + ", the consumer's position: " + consumer.position(PART));
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
open: newest timestamp: offset 2, time 1002 ms
open: first at or after 5000 ms: none
committed: newest timestamp: offset 3, time the present
committed: first at or after 5000 ms: offset 3, time the present
last record: offset 2, the consumer's position: 4
TEXT
