#!/usr/bin/env bash
# kafka-streams-application-reset deletes the changelogs of a living application of the streams protocol, which goes on as if well.
#
# Guess: the tool refuses while the application has members, as its manual requires and as it does with the classic protocol. If not,
#   the application fails when the topic of its state is gone.
# Seen (Kafka 4.4.0, its tools and Streams; the tool is called without input topics, which is to delete internal topics only): to the
#   tool a streams group has no members. It deletes the changelog, "Done.", status 0. The instance reads and commits on,
#   its group is Stable and without lag. Its next record makes the topic again through auto.create.topics.enable, on by default, with
#   cleanup.policy=delete instead of compact. The next instance without local state counts the sixth record of a key as the
#   first. With the classic protocol the same call says that the group is still active, status 1. (With --input-topics the
#   tool does not see the members either; the broker refuses its commit, and it ends before it deletes.)
# Why it matters: state is lost while neither lag, nor the group's state, nor an exception shows anything, and what was written
#   since goes as well after the retention of a topic that is not compacted. It shows at the next restart elsewhere, as wrong
#   results. A script that relied on the refusal of a living group does harm from the day on which the application's
#   group.protocol is changed.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
cat >"$work/ivy.xml" <<'XML'
<ivy-module version="2.0">
  <info organisation="finding" module="reset"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="4.4.0" conf="default"/>
    <dependency org="org.apache.kafka" name="kafka-streams" rev="4.4.0" conf="default"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="4.4.0" conf="default"/>
  </dependencies>
</ivy-module>
XML
java -jar "$ivy" -cache "$work/ivy" -ivy "$work/ivy.xml" -retrieve "$work/jars/[artifact]-[revision].[ext]" >"$work/ivy.log"
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
cat >"$work/Reset.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

class Reset {
  static Admin admin;
  static KafkaProducer<String, String> producer;
  static String server, directory, group;
  static final Map<String, Long> counts = new ConcurrentHashMap<>();

  static KafkaStreams start(String instance) {
    var builder = new StreamsBuilder();
    builder.stream(group + "-in", Consumed.with(Serdes.String(), Serdes.String()))
        .groupByKey(Grouped.with(Serdes.String(), Serdes.String())).count(Materialized.as("counts"))
        .toStream().foreach(counts::put);
    var config = new Properties();
    config.putAll(Map.of("application.id", group, "bootstrap.servers", server, "group.protocol", group, "commit.interval.ms", 200,
        "auto.offset.reset", "earliest", "statestore.cache.max.bytes", 0, "session.timeout.ms", 6000,
        "state.dir", directory + "/" + instance));
    var streams = new KafkaStreams(builder.build(), config);
    streams.setStateListener((now, before) -> System.err.println(group + ": " + now));
    streams.start();
    return streams;
  }

  static void send(String key, int count) throws Exception {
    for (int number = 0; number < count; number++) producer.send(new ProducerRecord<>(group + "-in", key, "value")).get();
  }

  static long lag() throws Exception {
    var partition = new TopicPartition(group + "-in", 0);
    var offset = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition);
    long end = admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset();
    return offset == null ? end : end - offset.offset();
  }

  static String state() throws Exception {
    return admin.listGroups(new ListGroupsOptions()).all().get().stream().filter(each -> each.groupId().equals(group))
        .map(each -> each.groupState().get().toString()).findAny().orElse("none");
  }

  static void waitFor(String wanted) throws Exception {
    for (int tries = 0; tries < 600 && !(state().equals(wanted) && lag() == 0); tries++) Thread.sleep(100);
  }

  static void show(String moment) throws Exception {
    var log = new ConfigResource(ConfigResource.Type.TOPIC, group + "-counts-changelog");
    String policy = "missing";
    if (admin.listTopics().names().get().contains(log.name()))
      policy = admin.describeConfigs(List.of(log)).all().get().get(log).get("cleanup.policy").value();
    System.out.println("  " + moment + ": " + state() + ", lag " + lag() + ", counts " + new TreeMap<>(counts) + ", changelog " + policy);
  }

  static void reset(String... more) throws Exception {
    var command = new ArrayList<>(List.of("java", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
        "org.apache.kafka.tools.StreamsResetter", "--bootstrap-server", server, "--application-id", group));
    command.addAll(List.of(more));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var lines = new String(process.getInputStream().readAllBytes()).lines().toList();
    for (String line : lines) {
      if (line.startsWith("ERROR") || line.startsWith("Deleting") || line.startsWith("Done"))
        System.out.println("  tool: " + line.replaceAll("java.lang.|org.apache.kafka.clients.consumer.| and has following.*|: Commit cannot.*", ""));
    }
    System.out.println("  tool: status " + process.waitFor());
  }

  public static void main(String[] args) throws Exception {
    server = args[0];
    directory = args[1];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    while (admin.describeCluster().nodes().get().isEmpty()) Thread.sleep(500);
    producer = new KafkaProducer<>(Map.of("bootstrap.servers", server), new StringSerializer(), new StringSerializer());
    for (String protocol : List.of("classic", "streams")) {
      group = protocol;
      counts.clear();
      System.out.println("protocol " + protocol + ":");
      admin.createTopics(List.of(new NewTopic(group + "-in", 1, (short) 1))).all().get();
      try (var streams = start("one-" + group)) {
        send("old", 5);
        send("new", 1);
        waitFor("Stable");
        show("alive");
        reset("--input-topics", group + "-in");
        reset();
        for (int number = 0; number < 10; number++) {
          send("new", 1);
          Thread.sleep(1000);
        }
        waitFor("Stable");
        show("ten records later");
      }
      waitFor("Empty");
      counts.clear();
      try (var streams = start("two-" + group)) {
        send("old", 1);
        send("new", 1);
        waitFor("Stable");
        show("next instance");
      }
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Reset.java" "127.0.0.1:$port" "$work/state" 2>"$work/reset.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/reset.log"; exit 1; }
protocol classic:
  alive: Stable, lag 0, counts {new=1, old=5}, changelog compact
  tool: ERROR: IllegalStateException: Consumer group 'classic' is still active
  tool: status 1
  tool: ERROR: IllegalStateException: Consumer group 'classic' is still active
  tool: status 1
  ten records later: Stable, lag 0, counts {new=11, old=5}, changelog compact
  next instance: Stable, lag 0, counts {new=12, old=6}, changelog compact
protocol streams:
  alive: Stable, lag 0, counts {new=1, old=5}, changelog compact
  tool: ERROR: CommitFailedException
  tool: status 1
  tool: Deleting inferred internal topics [streams-counts-changelog]
  tool: Done.
  tool: status 0
  ten records later: Stable, lag 0, counts {new=11, old=5}, changelog delete
  next instance: Stable, lag 0, counts {new=12, old=1}, changelog delete
TEXT
