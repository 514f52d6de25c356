#!/usr/bin/env bash
# MirrorMaker 2 copies no offset that goes back: a group that was reset at the source keeps its old place at the target.
#
# Guess: sync.group.offsets keeps the group at the target where it is at the source, give or take the interval, as it does for
#   every commit; a reset is a commit.
# Seen (Kafka 4.3.1): a group is at 100 at both ends. It is reset to 10 at the source. Two groups that commit 10 afterwards, one
#   after the other, are copied within seconds; the group that was reset stays at 100 at the target. The code skips
#   each offset that is not above that of the target, and logs it at the level TRACE.
# Why it matters: a reset is made to process records again. A failover in the meantime, or one for the very fault that made
#   them worth it, silently skips them: no error, and lag 0 at the target. Who moves a group back has to move it at both ends.
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
log.dirs=$work/data
PROPERTIES
cat >"$work/mirror.properties" <<PROPERTIES
clusters=a, b
a.bootstrap.servers=127.0.0.1:$port
b.bootstrap.servers=127.0.0.1:$port
a->b.enabled=true
a->b.topics=t
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
cat >"$work/Reset.java" <<'JAVA'
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

class Reset {
  static Admin admin;

  static long offset(String group, String topic) throws Exception {
    OffsetAndMetadata found =
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(new TopicPartition(topic, 0));
    return found == null ? -1 : found.offset();
  }

  static void commit(String group, long offset) throws Exception {
    admin.alterConsumerGroupOffsets(group, Map.of(new TopicPartition("t", 0), new OffsetAndMetadata(offset))).all().get();
  }

  static void waitForCopy(String group, long least) throws Exception {
    for (int tries = 0; tries < 480 && offset(group, "a.t") < least; tries++) Thread.sleep(250);
  }

  static void show(String moment) throws Exception {
    System.out.println(moment + ": source " + offset("g", "t") + ", target " + offset("g", "a.t"));
  }

  public static void main(String[] args) throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", args[0]));
    if (args[1].equals("produce")) {
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
      Map<String, Object> config = Map.of("bootstrap.servers", args[0]);
      try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
        for (int number = 0; number < 100; number++) producer.send(new ProducerRecord<>("t", "record"));
      }
      commit("g", 100);
    } else {
      waitForCopy("g", 100);
      show("at the end");
      commit("g", 10);
      for (String group : List.of("later", "latest")) {
        commit(group, 10);
        waitForCopy(group, 0);
        System.out.println(group + " copied: " + (offset(group, "a.t") >= 0));
      }
      show("reset");
    }
    System.exit(0);
  }
}
JAVA
reset=("${kafka[@]}" "$work/Reset.java" "127.0.0.1:$port")
"${reset[@]}" produce 2>"$work/produce.log"
"${kafka[@]}" org.apache.kafka.connect.mirror.MirrorMaker "$work/mirror.properties" >"$work/mirror.log" 2>&1 &
mirror=$!
"${reset[@]}" wait 2>"$work/wait.log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work"/*.log; exit 1; }
at the end: source 100, target 100
later copied: true
latest copied: true
reset: source 10, target 100
TEXT
