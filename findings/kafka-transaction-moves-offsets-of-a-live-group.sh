#!/usr/bin/env bash
# A transaction may commit offsets of a living group without being its member, where a plain commit is refused.
#
# Guess: while a group has members, its offsets belong to them. The coordinator refuses a stranger's commit, a reset by a
#   tool for instance, with UNKNOWN_MEMBER_ID; the transactional kind of the same request passes the same check.
# Seen (Kafka 4.3.1, Java clients, one member in Stable, both group protocols): the plain commit of a stranger is refused; in a
#   transaction, with a ConsumerGroupMetadata that holds only the group's name, it is accepted and stays. The member
#   is not fenced and no rebalance follows: it reads on from its own position, and its next commit moves the offset back.
# Why it matters: "the group was active, so only its members can have moved its offsets" is wrong. A jump or a step back of a
#   Stable group without a new generation can be a second application with the same group name, and each restart of a
#   member picks up whichever wrote last.
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
import java.time.Duration;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.*;

class Client {
  static Admin admin;
  static final TopicPartition PART = new TopicPartition("t", 0);

  static Map<TopicPartition, OffsetAndMetadata> at(long offset) {
    return Map.of(PART, new OffsetAndMetadata(offset));
  }

  static String await(String group, long offset) throws Exception {  // a transaction's marker comes after its answer
    for (int tries = 0;; tries++) {
      long found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(PART).offset();
      if (found == offset || tries == 100) return "offset " + found;
      Thread.sleep(100);
    }
  }

  public static void main(String[] args) throws Exception {
    String server = args[0];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    for (String protocol : List.of("classic", "consumer")) {
      String group = "g-" + protocol;
      Map<String, Object> reading = Map.of("bootstrap.servers", server, "group.id", group, "group.protocol", protocol,
          "enable.auto.commit", "false", "auto.offset.reset", "earliest");
      Map<String, Object> writing = Map.of("bootstrap.servers", server, "transactional.id", group);
      try (var member = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
          var stranger = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer())) {
        member.subscribe(List.of("t"));
        while (member.assignment().isEmpty()) member.poll(Duration.ofMillis(100));
        member.commitSync(at(7));
        System.out.println(protocol + ", member's commit: " + await(group, 7));
        try {
          admin.alterConsumerGroupOffsets(group, at(3)).all().get();
          System.out.println(protocol + ", stranger's plain commit: accepted");
        } catch (Exception e) {
          System.out.println(protocol + ", stranger's plain commit: " + e.getCause().getClass().getSimpleName());
        }
        stranger.initTransactions();
        stranger.beginTransaction();
        stranger.sendOffsetsToTransaction(at(3), new ConsumerGroupMetadata(group));
        stranger.commitTransaction();
        System.out.println(protocol + ", stranger's transaction: " + await(group, 3));
        var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        System.out.println(protocol + ", group: " + described.groupState() + ", " + described.members().size() + " member");
        member.commitSync(at(8));
        System.out.println(protocol + ", member's next commit: " + await(group, 8));
      }
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
classic, member's commit: offset 7
classic, stranger's plain commit: UnknownMemberIdException
classic, stranger's transaction: offset 3
classic, group: Stable, 1 member
classic, member's next commit: offset 8
consumer, member's commit: offset 7
consumer, stranger's plain commit: UnknownMemberIdException
consumer, stranger's transaction: offset 3
consumer, group: Stable, 1 member
consumer, member's next commit: offset 8
TEXT
