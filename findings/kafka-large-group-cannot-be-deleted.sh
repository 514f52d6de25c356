#!/usr/bin/env bash
# A group with many offsets cannot be deleted, and groups that can be deleted one by one cannot be all at once.
#
# Guess: DeleteGroups and OffsetDelete write one tombstone for each offset, in as many batches as are needed.
# Seen (Kafka 4.3.1, default limits): all tombstones of one request must fit in one batch, max.message.bytes of
#   __consumer_offsets, 1 MiB. A group that has, in three commits, stored 3,000 offsets of topics and under a name of some
#   length, 1.2 MB of tombstones, can neither be deleted nor lose them in one call: UnknownServerException, which says
#   nothing of a size. Of 3,000 small groups of one coordinator that are deleted in one call, none is; in calls of 500 all
#   are. The commit of these 3,000 offsets in one call fails in the same way.
# Why it matters: a clean-up of old groups by one call fails as a whole and looks like a fault of the broker. A writer of
#   offsets, a migration for instance, must cut its commits by bytes; a group that grew by many commits has to be taken apart
#   offset by offset.
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
log.index.size.max.bytes=100000
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx512m -cp "$work/jars/*")
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
  static final String NAME = "n".repeat(200);

  static String attempt(Callable<KafkaFuture<Void>> call) throws Exception {
    for (int tries = 0;; tries++)
      try {
        call.call().get();
        return "done";
      } catch (Exception e) {
        String error = (e.getCause() == null ? e : e.getCause()).getClass().getSimpleName();
        if (error.equals("UnknownServerException") || tries == 120) return error;
        Thread.sleep(500);  // the coordinator may still be loading
      }
  }

  static int count(String group) throws Exception {
    return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().size();
  }

  public static void main(String[] args) throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 120_000));
    OffsetAndMetadata zero = new OffsetAndMetadata(0);
    List<Map<TopicPartition, OffsetAndMetadata>> parts = new ArrayList<>();
    Map<TopicPartition, OffsetAndMetadata> all = new HashMap<>();
    for (int topic = 0; topic < 3; topic++) {
      admin.createTopics(List.of(new NewTopic(NAME + topic, 1000, (short) 1))).all().get();
      parts.add(new HashMap<>());
      for (int number = 0; number < 1000; number++) parts.get(topic).put(new TopicPartition(NAME + topic, number), zero);
      all.putAll(parts.get(topic));
    }
    while (admin.describeCluster().nodes().get().isEmpty()) Thread.sleep(500);
    for (var part : parts) System.out.println("commit of 1000: " + attempt(() -> admin.alterConsumerGroupOffsets(NAME, part).all()));
    System.out.println("commit of 3000: " + attempt(() -> admin.alterConsumerGroupOffsets(NAME + 1, all).all()));
    System.out.println("delete 3000 offsets: " + attempt(() -> admin.deleteConsumerGroupOffsets(NAME, all.keySet()).all()));
    System.out.println("delete the group: " + attempt(() -> admin.deleteConsumerGroups(List.of(NAME)).all()));
    System.out.println("offsets left: " + count(NAME));
    for (var part : parts.subList(0, 2))
      System.out.println("delete 1000 offsets: " + attempt(() -> admin.deleteConsumerGroupOffsets(NAME, part.keySet()).all()));
    System.out.println("delete the group: " + attempt(() -> admin.deleteConsumerGroups(List.of(NAME)).all()));
    System.out.println("offsets left: " + count(NAME));
    List<String> small = new ArrayList<>();
    List<KafkaFuture<Void>> commits = new ArrayList<>();
    for (int number = 0; number < 3000; number++) {
      small.add(NAME + "-" + number);
      commits.add(admin.alterConsumerGroupOffsets(NAME + "-" + number, Map.of(new TopicPartition(NAME + 0, 0), zero)).all());
    }
    for (var commit : commits) commit.get();
    System.out.println("delete 3000 groups: " + attempt(() -> admin.deleteConsumerGroups(small).all()));
    System.out.println("groups left: " + admin.listGroups().all().get().size());
    for (int from = 0; from < 3000; from += 500) admin.deleteConsumerGroups(small.subList(from, from + 500)).all().get();
    System.out.println("groups left after calls of 500: " + admin.listGroups().all().get().size());
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
commit of 1000: done
commit of 1000: done
commit of 1000: done
commit of 3000: UnknownServerException
delete 3000 offsets: UnknownServerException
delete the group: UnknownServerException
offsets left: 3000
delete 1000 offsets: done
delete 1000 offsets: done
delete the group: done
offsets left: 0
delete 3000 groups: UnknownServerException
groups left: 3000
groups left after calls of 500: 0
TEXT
