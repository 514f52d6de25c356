#!/usr/bin/env bash
# A Streams application of the streams protocol cannot start with another replication.factor, also when its group is empty.
#
# Guess: settings of internal topics count when a topic is made. An application that starts with other ones reads on from its offsets
#   and leaves its topics as they are, as with the classic protocol; or the broker takes the new description, as no member has the
#   old one any more. What Streams documents as not supported are significant changes, of source topics or subtopologies.
# Seen (Kafka 4.4.0, its Streams): the group's first member stores the application's internal topics in the group, with replication
#   factor and settings. Each later member that differs is refused, InvalidRequestException "Topology updates are not supported
#   yet.", which ends its client, for as long as the group exists. That are a replication.factor, a setting with the prefix
#   "topic.", the retention of a window store and windowstore.changelog.additional.retention.ms; not another processing
#   step. The classic protocol takes them all. What helps is to save the offsets, delete the group and put them back.
# Why it matters: the setting that is changed when a cluster gets more brokers keeps the application out at its next deployment, and
#   the way back is to change it back. A monitor sees an Empty group with growing lag: the new instances have never been members. Where
#   no offsets were saved, a deletion of the group begins at auto.offset.reset; where nothing is done, they expire.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
cat >"$work/ivy.xml" <<'XML'
<ivy-module version="2.0">
  <info organisation="finding" module="streams"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="4.4.0" conf="default"/>
    <dependency org="org.apache.kafka" name="kafka-streams" rev="4.4.0" conf="default"/>
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
cat >"$work/Change.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.WindowStore;

class Change {
  static Admin admin;
  static KafkaProducer<String, String> producer;
  static String server, directory, group;
  static final TopicPartition PARTITION = new TopicPartition("t", 0);

  static Topology topology(int hours, boolean oneStepMore) {
    var builder = new StreamsBuilder();
    var stream = builder.stream("t", Consumed.with(Serdes.String(), Serdes.String()));
    if (oneStepMore) stream = stream.mapValues(value -> value + "!");
    Materialized<String, Long, WindowStore<Bytes, byte[]>> store = Materialized.as("counts");
    stream.groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
        .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
        .count(store.withRetention(Duration.ofHours(hours)));
    return builder.build();
  }

  static String state() throws Exception {
    return admin.listGroups(new ListGroupsOptions()).all().get().stream().filter(each -> each.groupId().equals(group))
        .map(each -> each.groupState().get().toString()).findAny().orElse("none");
  }

  static void run(String what, Topology topology, Map<String, Object> settings) throws Exception {
    long end = producer.send(new ProducerRecord<>("t", "key", "value")).get().offset() + 1;
    var config = new Properties();
    config.putAll(Map.of("application.id", group, "bootstrap.servers", server, "group.protocol", group, "state.dir", directory,
        "commit.interval.ms", 200, "auto.offset.reset", "earliest", "session.timeout.ms", 6000));
    config.putAll(settings);
    var failure = new AtomicReference<Throwable>();
    String seen = null;
    try (var streams = new KafkaStreams(topology, config)) {
      streams.setUncaughtExceptionHandler(error -> {
        while (error.getCause() != null) error = error.getCause();
        failure.set(error);
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
      });
      streams.start();
      for (int tries = 0; tries < 600 && seen == null; tries++) {
        Thread.sleep(100);
        var offset = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(PARTITION);
        if (offset != null && offset.offset() == end) seen = "reads";
        if (failure.get() != null) seen = failure.get().getClass().getSimpleName() + ": " + failure.get().getMessage();
      }
      streams.close(Duration.ofSeconds(30));
    }
    for (int tries = 0; tries < 600 && !state().equals("Empty"); tries++) Thread.sleep(100);
    System.out.println("  " + what + ": " + seen);
  }

  public static void main(String[] args) throws Exception {
    server = args[0];
    directory = args[1];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    while (admin.describeCluster().nodes().get().isEmpty()) Thread.sleep(500);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    producer = new KafkaProducer<>(Map.of("bootstrap.servers", server), new StringSerializer(), new StringSerializer());
    for (String protocol : List.of("classic", "streams")) {
      group = protocol;
      System.out.println("protocol " + protocol + ", each with an empty group:");
      run("first", topology(1, false), Map.of());
      run("one step more", topology(1, true), Map.of());
      run("replication.factor", topology(1, false), Map.of("replication.factor", 1));
      run("topic.segment.bytes", topology(1, false), Map.of("topic.segment.bytes", 10_000_000));
      run("retention of two hours", topology(2, false), Map.of());
      run("additional retention", topology(1, false), Map.of("windowstore.changelog.additional.retention.ms", 3_600_000L));
      run("as the first", topology(1, false), Map.of());
    }
    var saved = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    admin.deleteStreamsGroups(List.of(group)).all().get();
    admin.alterConsumerGroupOffsets(group, saved).all().get();
    System.out.println("offsets saved, group deleted, offsets put back:");
    run("replication.factor and retention", topology(2, false), Map.of("replication.factor", 1));
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Change.java" "127.0.0.1:$port" "$work/state" 2>"$work/change.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/change.log"; exit 1; }
protocol classic, each with an empty group:
  first: reads
  one step more: reads
  replication.factor: reads
  topic.segment.bytes: reads
  retention of two hours: reads
  additional retention: reads
  as the first: reads
protocol streams, each with an empty group:
  first: reads
  one step more: reads
  replication.factor: InvalidRequestException: Topology updates are not supported yet.
  topic.segment.bytes: InvalidRequestException: Topology updates are not supported yet.
  retention of two hours: InvalidRequestException: Topology updates are not supported yet.
  additional retention: InvalidRequestException: Topology updates are not supported yet.
  as the first: reads
offsets saved, group deleted, offsets put back:
  replication.factor and retention: reads
TEXT
