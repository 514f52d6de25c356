#!/usr/bin/env bash
# MirrorMaker 2 brings back an offset that expired or was deleted at both ends, for as long as its group exists at the source.
#
# Guess: sync.group.offsets copies offsets that the source has. One that expired there, as the group has left its topic, is no longer
#   copied and expires at the target as well, and what is deleted at both ends stays deleted.
# Seen (Kafka 4.3.1, offsets.retention.minutes=1): a group that goes on committing t has committed u once. Three minutes later the
#   source has no offset of u, and the target still has it: each time it has expired there, it is committed again. Deleted
#   at the target while MirrorMaker is down, it is back after the restart. What was copied once stays in MirrorMaker's memory
#   and in its topic of checkpoints, of which nothing is removed, and is committed where the target's group does not have it.
# Why it matters: at the target the group stays in topics that it left long ago, with a lag that grows with them for ever, while it is
#   well at the source. An alert on it cannot be ended at the target by removing the offset, nor does its retention end it. In a
#   failover an application that takes up the topic again begins at the offset of long ago, not by auto.offset.reset.
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
offsets.retention.minutes=1
offsets.retention.check.interval.ms=1000
log.dirs=$work/data
PROPERTIES
cat >"$work/mirror.properties" <<PROPERTIES
clusters=a, b
a.bootstrap.servers=127.0.0.1:$port
b.bootstrap.servers=127.0.0.1:$port
a->b.enabled=true
a->b.topics=t, u
a->b.groups=.*
a->b.offset.lag.max=0
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
mirror() {
  "${kafka[@]}" org.apache.kafka.connect.mirror.MirrorMaker "$work/mirror.properties" >>"$work/mirror.log" 2>&1 &
  mirror=$!
}
cat >"$work/Left.java" <<'JAVA'
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

class Left {
  static Admin admin;
  static String server;

  static Long offset(String topic) throws Exception {
    var found = admin.listConsumerGroupOffsets("g").partitionsToOffsetAndMetadata().get().get(new TopicPartition(topic, 0));
    return found == null ? null : found.offset();
  }

  static long end(String topic) throws Exception {
    var partition = new TopicPartition(topic, 0);
    return admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset();
  }

  static void commit(String topic) throws Exception {
    admin.alterConsumerGroupOffsets("g", Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(100))).all().get();
  }

  static void send(String topic, int count) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", server);
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int number = 0; number < count; number++) producer.send(new ProducerRecord<>(topic, "record"));
    }
  }

  static void waitForCopy() throws Exception {
    for (int tries = 0; tries < 480 && offset("a.u") == null; tries++) {
      commit("t");
      Thread.sleep(250);
    }
  }

  static void show(String moment) throws Exception {
    System.out.println(moment + ": offset of u: source " + offset("u") + ", target " + offset("a.u"));
  }

  public static void main(String[] args) throws Exception {
    server = args[0];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    if (args[1].equals("make")) {
      while (admin.describeCluster().nodes().get().isEmpty()) Thread.sleep(500);
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1), new NewTopic("u", 1, (short) 1))).all().get();
      send("t", 100);
      send("u", 100);
      commit("t");
    } else if (args[1].equals("expire")) {
      commit("u");
      waitForCopy();
      show("copied");
      send("u", 50);
      for (int second = 0; second < 180; second++) {
        commit("t");
        Thread.sleep(1000);
      }
      waitForCopy();
      show("three minutes later");
      System.out.println("  its lag at the target: " + (end("a.u") - offset("a.u")));
    } else if (args[1].equals("delete")) {
      commit("t");
      admin.deleteConsumerGroupOffsets("g", Set.of(new TopicPartition("a.u", 0))).all().get();
      show("MirrorMaker down, deleted");
    } else {
      waitForCopy();
      show("MirrorMaker restarted");
    }
    System.exit(0);
  }
}
JAVA
left() { "${kafka[@]}" "$work/Left.java" "127.0.0.1:$port" "$@" 2>>"$work/left.log" | tee -a "$work/seen"; }
left make
mirror
left expire
kill -9 "$mirror" && wait "$mirror" 2>/dev/null || true
left delete
mirror
left restart
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/*.log; exit 1; }
copied: offset of u: source 100, target 100
three minutes later: offset of u: source null, target 100
  its lag at the target: 50
MirrorMaker down, deleted: offset of u: source null, target null
MirrorMaker restarted: offset of u: source null, target 100
TEXT
