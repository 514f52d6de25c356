#!/usr/bin/env bash
# MirrorMaker 2 copies no offsets of a Streams application that uses the streams protocol.
#
# Guess: with groups=.* and sync.group.offsets.enabled it copies the offsets of every group that commits, whatever its protocol.
# Seen (Kafka 4.3.1, its MirrorMaker and Streams): the groups of a classic consumer, of one of KIP-848 and of a Streams
#   application with the classic protocol are copied within seconds; that of one with group.protocol=streams is not.
#   MirrorMaker asks for consumer groups only.
# Why it matters: the setting of one application takes it out of the disaster recovery of its cluster. Its group is missing at the
#   target, where a failover starts it at its reset policy, and no metric of MirrorMaker counts groups that it does not list.
set -euo pipefail
work=$(mktemp -d)
broker= mirror=
trap 'for each in $mirror $broker; do kill -9 "$each"; wait "$each" || true; done 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
cat >"$work/ivy.xml" <<'XML'
<ivy-module version="2.0">
  <info organisation="finding" module="mirror"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="4.3.1" conf="default"/>
    <dependency org="org.apache.kafka" name="connect-mirror" rev="4.3.1" conf="default"/>
    <dependency org="org.apache.kafka" name="kafka-streams" rev="4.3.1" conf="default"/>
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
cat >"$work/mirror.properties" <<PROPERTIES
clusters=a, b
a.bootstrap.servers=127.0.0.1:$port
b.bootstrap.servers=127.0.0.1:$port
a->b.enabled=true
a->b.topics=t
a->b.groups=.*
a->b.sync.group.offsets.enabled=true
a->b.sync.group.offsets.interval.seconds=1
a->b.emit.checkpoints.interval.seconds=1
a->b.refresh.groups.interval.seconds=1
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
cat >"$work/Groups.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;

class Groups {
  static Admin admin;

  static Long offset(String group, String topic) throws Exception {
    OffsetAndMetadata found =
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(new TopicPartition(topic, 0));
    return found == null ? null : found.offset();
  }

  static void waitFor(String group, String topic) throws Exception {
    for (int tries = 0; tries < 240 && offset(group, topic) == null; tries++) Thread.sleep(500);
  }

  static Map<String, Object> config(String server, String protocol) {
    return new HashMap<>(Map.of("bootstrap.servers", server, "group.protocol", protocol, "auto.offset.reset", "earliest"));
  }

  static void consume(String server, String group, String protocol) {
    Map<String, Object> config = config(server, protocol);
    config.put("group.id", group);
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of("t"));
      for (int read = 0; read < 10; ) read += consumer.poll(Duration.ofSeconds(1)).count();
    }
  }

  static void stream(String server, String group, String protocol) throws Exception {
    Properties config = new Properties();
    config.putAll(config(server, protocol));
    config.putAll(Map.of("application.id", group, "commit.interval.ms", 200, "state.dir", System.getProperty("state")));
    config.putAll(Map.of("default.key.serde", Serdes.StringSerde.class, "default.value.serde", Serdes.StringSerde.class));
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream("t").foreach((key, value) -> { });
    try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
      streams.start();
      waitFor(group, "t");
      streams.close(new KafkaStreams.CloseOptions().leaveGroup(true));
    }
  }

  public static void main(String[] args) throws Exception {
    String server = args[0];
    List<String> groups = List.of("classic", "consumer", "streams-classic", "streams-streams");
    admin = Admin.create(Map.of("bootstrap.servers", server));
    if (args[1].equals("read")) {
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
      Map<String, Object> config = Map.of("bootstrap.servers", server);
      try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
        for (int number = 0; number < 10; number++) producer.send(new ProducerRecord<>("t", "record"));
      }
      for (String group : groups.subList(0, 2)) consume(server, group, group);
      for (String group : groups.subList(2, 4)) stream(server, group, group.substring(8));
    } else {
      for (String group : groups.subList(0, 3)) waitFor(group, "a.t");
      for (int tries = 0; tries < 40 && offset("streams-streams", "a.t") == null; tries++) Thread.sleep(500);
    }
    for (String group : groups)
      System.out.println(group + ": t " + (offset(group, "t") != null) + ", a.t " + (offset(group, "a.t") != null));
    admin.close();
  }
}
JAVA
groups=(java -Xmx256m -Dstate="$work/state" -cp "$work/jars/*" "$work/Groups.java" "127.0.0.1:$port")
(echo "before:" && "${groups[@]}" read 2>"$work/read.log") | tee "$work/seen"
"${kafka[@]}" org.apache.kafka.connect.mirror.MirrorMaker "$work/mirror.properties" >"$work/mirror.log" 2>&1 &
mirror=$!
(echo "mirrored:" && "${groups[@]}" wait 2>"$work/wait.log") | tee -a "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/*.log; exit 1; }
before:
classic: t true, a.t false
consumer: t true, a.t false
streams-classic: t true, a.t false
streams-streams: t true, a.t false
mirrored:
classic: t true, a.t true
consumer: t true, a.t true
streams-classic: t true, a.t true
streams-streams: t true, a.t false
TEXT
