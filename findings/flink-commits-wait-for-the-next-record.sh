#!/usr/bin/env bash
# Flink's Kafka source commits the offset of a checkpoint when the next record arrives, or ten seconds later.
#
# Guess: with checkpoints each 100 ms the committed offset follows the position within a few checkpoints, as the manual says that
#   offsets are committed when checkpoints are completed, and stopping with a savepoint commits the savepoint's position.
# Seen (Flink 2.2.1, connector 5.0.0-2.2, Kafka 4.3.1): a commit is a task of the thread that polls, and nothing wakes that thread
#   up. Five checkpoints after all 15 records were read, 10 are committed; the commit of 15 goes out when record 16 arrives. A
#   poll without records lasts ten seconds, and then the commits of all its checkpoints are sent at once. After a stop
#   with a savepoint, which has read 16 records, 15 stay committed.
# Why it matters: a topic that gets a record now and then shows lag that is none for up to ten seconds, whatever the interval of
#   the checkpoints; an alert or an autoscaler with a shorter patience acts on it. A job that starts from the committed
#   offsets instead of the savepoint reads records again although it was stopped cleanly.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
retrieve() { java -jar "$ivy" -cache "$work/ivy" -ivy "$work/$1.xml" -retrieve "$work/$1/[artifact]-[revision].[ext]" >"$work/$1.log"; }
module() {
  echo '<ivy-module version="2.0"><info organisation="finding" module="flink"/><dependencies>'
  while read -r organisation name revision; do
    echo "<dependency org=\"$organisation\" name=\"$name\" rev=\"$revision\" conf=\"default\"/>"
  done
  echo '</dependencies></ivy-module>'
}
module >"$work/kafka.xml" <<<'org.apache.kafka kafka_2.13 4.3.1' && retrieve kafka
module >"$work/flink.xml" <<'MODULES' && retrieve flink
org.apache.flink flink-connector-kafka 5.0.0-2.2
org.apache.flink flink-connector-base 2.2.1
org.apache.flink flink-streaming-java 2.2.1
org.apache.flink flink-clients 2.2.1
MODULES
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
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/kafka/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/Job.java" <<'JAVA'
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

class Job {
  static final AtomicInteger read = new AtomicInteger(), checkpoints = new AtomicInteger();
  static Admin admin;
  static String server;

  static class Count implements MapFunction<String, String>, CheckpointListener {
    public String map(String value) {
      read.incrementAndGet();
      return value;
    }

    public void notifyCheckpointComplete(long id) {
      checkpoints.incrementAndGet();
    }
  }

  static void produce(int count) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", server, "linger.ms", 200);  // one batch
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int number = 0; number < count; number++) producer.send(new ProducerRecord<>("t", "record"));
    }
  }

  static void readAndCheckpointed(int records) throws Exception {
    while (read.get() < records) Thread.sleep(10);
    int goal = checkpoints.get() + 5;
    while (checkpoints.get() < goal) Thread.sleep(10);
  }

  static long committed() throws Exception {
    OffsetAndMetadata found =
        admin.listConsumerGroupOffsets("g").partitionsToOffsetAndMetadata().get().get(new TopicPartition("t", 0));
    return found == null ? -1 : found.offset();
  }

  static long committedAtLast(long offset) throws Exception {
    for (int tries = 0; tries < 600 && committed() != offset; tries++) Thread.sleep(100);
    return committed();
  }

  public static void main(String[] args) throws Exception {
    server = args[0];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    produce(10);
    var environment = StreamExecutionEnvironment.createLocalEnvironment(1);
    environment.enableCheckpointing(100);
    var source = KafkaSource.<String>builder().setBootstrapServers(server).setTopics("t").setGroupId("g")
        .setStartingOffsets(OffsetsInitializer.earliest()).setValueOnlyDeserializer(new SimpleStringSchema()).build();
    environment.fromSource(source, WatermarkStrategy.noWatermarks(), "t").map(new Count()).returns(String.class)
        .sinkTo(new DiscardingSink<>());
    JobClient job = environment.executeAsync();
    readAndCheckpointed(10);
    System.out.println("at rest, sooner or later: " + committedAtLast(10));
    produce(5);
    readAndCheckpointed(15);
    System.out.println("15 read, five checkpoints later: " + committed());
    produce(1);
    System.out.println("the 16th arrives: " + committedAtLast(15));
    readAndCheckpointed(16);
    job.stopWithSavepoint(false, args[1], SavepointFormatType.CANONICAL).get();
    System.out.println("stopped with a savepoint: " + committed());
    Runtime.getRuntime().halt(0);
  }
}
JAVA
javac -d "$work/classes" -cp "$work/flink/*" "$work/Job.java"
java -Xmx512m -cp "$work/flink/*:$work/classes" Job "127.0.0.1:$port" "file://$work/savepoints" 2>"$work/job.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/job.log"; exit 1; }
at rest, sooner or later: 10
15 read, five checkpoints later: 10
the 16th arrives: 15
stopped with a savepoint: 15
TEXT
