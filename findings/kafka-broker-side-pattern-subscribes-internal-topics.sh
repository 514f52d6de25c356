#!/usr/bin/env bash
# A pattern that the broker evaluates subscribes a group to __consumer_offsets, where it reads its own commits for ever.
#
# Guess: exclude.internal.topics is on by default, so ".*" means all topics of users, wherever the pattern is evaluated.
# Seen (Kafka 4.3.1, Java consumer of the same release, group.protocol=consumer): subscribe(Pattern.compile(".*")), which the
#   client evaluates, leaves the internal topics out. subscribe(new SubscriptionPattern(".*")), which the broker evaluates
#   (KIP-848), assigns the partitions of __consumer_offsets as well. With auto commit the group is never at rest again: each
#   commit is a record that it has to read, after which it commits.
# Why it matters: a cluster without traffic writes for ever, the lag of such a group is never 0, and its application gets
#   records of a binary format. A monitor meets a group that reads the topic which the monitor reads, at the head of the most
#   frequent committers, and with partitions of an internal topic in its assignment.
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
cat >"$work/Client.java" <<'JAVA'
import java.util.*;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import java.time.Duration;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.StringDeserializer;

class Client {
  public static void main(String[] args) throws Exception {
    Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]));
    admin.createTopics(List.of(new NewTopic("a", 1, (short) 1), new NewTopic("b", 1, (short) 1))).all().get();
    TopicPartition log = new TopicPartition("__consumer_offsets", 0);
    for (boolean broker : List.of(true, false)) {
      String side = broker ? "broker" : "client";
      Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", side, "group.protocol", "consumer",
          "auto.offset.reset", "earliest", "auto.commit.interval.ms", "100", "exclude.internal.topics", "true");
      try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
        if (broker) consumer.subscribe(new SubscriptionPattern(".*"));
        else consumer.subscribe(Pattern.compile(".*"));
        Set<String> topics = new TreeSet<>();
        for (int polls = 0; polls < 300 && topics.size() < (broker ? 3 : 2); polls++) {
          consumer.poll(Duration.ofMillis(100));
          for (TopicPartition each : consumer.assignment()) topics.add(each.topic());
        }
        for (int polls = 0; polls < 50; polls++) consumer.poll(Duration.ofMillis(100));  // what was written so far
        int more = 0;
        for (int polls = 0; polls < 50; polls++)
          for (var record : consumer.poll(Duration.ofMillis(100))) more += record.topic().equals(log.topic()) ? 1 : 0;
        for (TopicPartition each : consumer.assignment()) topics.add(each.topic());
        System.out.println("evaluated by the " + side + ": " + topics + ", reads on without a producer: " + (more > 20));
      }
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
evaluated by the broker: [__consumer_offsets, a, b], reads on without a producer: true
evaluated by the client: [a, b], reads on without a producer: false
TEXT
