#!/usr/bin/env bash
# A group whose name is the empty string can be made, listed and deleted, but not described, and loses no single offset.
#
# Guess: the empty name means "no group": a commit to it is refused with INVALID_GROUP_ID, as a join is.
# Seen (Kafka 4.3.1, Java admin client): the commit is stored, ListGroups shows '' as a group like others and OffsetFetch
#   answers for it. Describing it as a consumer group fails with InvalidGroupIdException, describing it as a classic one
#   succeeds. One of its offsets cannot be deleted (InvalidGroupIdException), the whole group can.
# Why it matters: a program with an unset variable for its group makes it. A tool that describes what it has listed gets an
#   error for this group, also from the list of a healthy cluster; one that reads __consumer_offsets meets keys with a group
#   of length 0, and must not take them for "none" or drop them: all such programs share these offsets.
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

  static void attempt(String what, Callable<?> call) {
    String seen;
    try {
      seen = String.valueOf(call.call());
    } catch (Exception e) {
      seen = (e.getCause() == null ? e : e.getCause()).getClass().getSimpleName();
    }
    System.out.println(what + ": " + seen);
  }

  public static void main(String[] args) throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", args[0]));
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    TopicPartition part = new TopicPartition("t", 0);
    Map<TopicPartition, OffsetAndMetadata> offset = Map.of(part, new OffsetAndMetadata(3));
    for (int tries = 0; tries < 120; tries++)  // the coordinator may still be loading
      try {
        admin.alterConsumerGroupOffsets("other", offset).all().get();
        break;
      } catch (Exception e) {
        Thread.sleep(500);
      }
    attempt("commit", () -> admin.alterConsumerGroupOffsets("", offset).all().get());
    Callable<?> list = () -> admin.listGroups().all().get().stream().map(group -> "'" + group.groupId() + "'").sorted().toList();
    attempt("list", list);
    attempt("offset", () -> admin.listConsumerGroupOffsets("").partitionsToOffsetAndMetadata().get().get(part).offset());
    attempt("describe as a consumer group", () -> admin.describeConsumerGroups(List.of("")).all().get());
    attempt("describe as a classic group", () -> admin.describeClassicGroups(List.of("")).all().get().get("").state());
    attempt("delete one offset", () -> admin.deleteConsumerGroupOffsets("", Set.of(part)).all().get());
    attempt("delete one offset of the other group", () -> admin.deleteConsumerGroupOffsets("other", Set.of(part)).all().get());
    attempt("delete the group", () -> admin.deleteConsumerGroups(List.of("")).all().get());
    attempt("list", list);
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
commit: null
list: ['', 'other']
offset: 3
describe as a consumer group: InvalidGroupIdException
describe as a classic group: Empty
delete one offset: InvalidGroupIdException
delete one offset of the other group: null
delete the group: null
list: ['other']
TEXT
