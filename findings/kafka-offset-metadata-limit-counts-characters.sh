#!/usr/bin/env bash
# The limit of a commit's metadata in bytes counts characters.
#
# Guess: offset.metadata.max.bytes, 4096, is what its name and its documentation say, a number of bytes.
# Seen (Kafka 4.3.1, one broker, Java admin client): 4096 times "é", 8192 bytes, are stored, and so are 4096 times "語",
#   12,288 bytes. 4097 ASCII letters, a third of that, are refused. Of a commit of two partitions of which one is refused,
#   the other one is stored, although the call fails.
# Why it matters: a reader of __consumer_offsets that takes the setting for the size of its buffer or column is three times
#   too small. The number of partitions that fit in one commit, a batch of the topic, is three times lower too.
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

class Client {
  static Admin admin;

  static String commit(Map<TopicPartition, String> metadata) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    metadata.forEach((partition, text) -> offsets.put(partition, new OffsetAndMetadata(1, text)));
    for (int tries = 0;; tries++) {
      try {
        admin.alterConsumerGroupOffsets("g", offsets).all().get();
        return "stored";
      } catch (Exception e) {
        String error = e.getCause().getClass().getSimpleName();
        if (error.equals("OffsetMetadataTooLarge") || tries == 120) return error;
        Thread.sleep(500);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", args[0]));
    admin.createTopics(List.of(new NewTopic("t", 2, (short) 1))).all().get();
    TopicPartition zero = new TopicPartition("t", 0), one = new TopicPartition("t", 1);
    for (String letter : List.of("x", "\u00e9", "\u8a9e"))
      for (int length : List.of(4096, 4097)) {
        String text = letter.repeat(length);
        System.out.println(length + " characters, " + text.getBytes("UTF-8").length + " bytes: " + commit(Map.of(zero, text)));
      }
    System.out.println("one of two too long: " + commit(Map.of(zero, "x".repeat(4097), one, "short")));
    System.out.println("has: " + admin.listConsumerGroupOffsets("g").partitionsToOffsetAndMetadata().get().get(one).metadata());
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
4096 characters, 4096 bytes: stored
4097 characters, 4097 bytes: OffsetMetadataTooLarge
4096 characters, 8192 bytes: stored
4097 characters, 8194 bytes: OffsetMetadataTooLarge
4096 characters, 12288 bytes: stored
4097 characters, 12291 bytes: OffsetMetadataTooLarge
one of two too long: OffsetMetadataTooLarge
has: short
TEXT
