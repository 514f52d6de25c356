#!/usr/bin/env bash
# A coordinator that is killed while it has much to load answers, after the restart, that a group has no offsets.
#
# Guess: until a coordinator has read its partition of __consumer_offsets it answers COORDINATOR_LOAD_IN_PROGRESS.
# Seen (Kafka 4.3.1, one broker, a million small commits): a broker that comes back after a kill leads the partition by
#   its old metadata, is then fenced, leads it again, and begins to load both times. The end of the first load makes
#   whatever coordinator the partition has by then active (CoordinatorRuntime looks it up by partition, and asks only
#   whether it is loading): the second one, which has read nothing. For as long as its own load takes, OffsetFetch answers
#   without an error that there is no offset. A write in that time finds the coordinator "out of sync with the underlying
#   log" and starts the next load, which ends in the same way: with 20 million records in 50 partitions and 500 groups
#   that joined, 467 reloads in five minutes, until the broker was killed again.
# Why it matters: to a consumer that starts in these seconds the answer means that nothing was committed, and it goes by
#   auto.offset.reset (what consumers and joins do then is not part of this script). A large offsets topic, or a log
#   cleaner that does not run, makes the time long enough.
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
# A short session makes the broker lead again after two seconds instead of nine, so a load of five seconds is long enough.
cat >"$work/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
offsets.load.buffer.size=104857600
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx1g -cp "$work/jars/*")
start() {
  "${kafka[@]}" kafka.Kafka "$work/server.properties" >>"$work/broker.log" 2>&1 &
  broker=$!
}
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
cat >"$work/Client.java" <<'JAVA'
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;

class Client {
  public static void main(String[] args) throws Exception {
    Admin admin = Admin.create(Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 300_000));
    TopicPartition first = new TopicPartition("t", 0);
    if (args[1].equals("write")) {
      while (admin.describeCluster().nodes().get().isEmpty()) Thread.sleep(500);
      admin.createTopics(List.of(new NewTopic("t", 100, (short) 1))).all().get();
      admin.alterConsumerGroupOffsets("kept", Map.of(first, new OffsetAndMetadata(3))).all().get();
      for (int round = 0; round < 100; round++) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (int number = 0; number < 100; number++) offsets.put(new TopicPartition("t", number), new OffsetAndMetadata(round));
        List<KafkaFuture<Void>> commits = new ArrayList<>();
        for (int group = 0; group < 100; group++) commits.add(admin.alterConsumerGroupOffsets("g" + group, offsets).all());
        for (var commit : commits) commit.get();
      }
    }
    String before = "", now;
    long end = System.currentTimeMillis() + Long.parseLong(args[2]) * 1000;
    do {
      var found = admin.listConsumerGroupOffsets("kept").partitionsToOffsetAndMetadata().get().get(first);
      now = found == null ? "no offset" : "offset " + found.offset();
      if (!now.equals(before)) System.out.println(args[1] + ": " + now);
      before = now;
      Thread.sleep(50);
    } while (System.currentTimeMillis() < end);
    System.exit(0);
  }
}
JAVA
client() { "${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" "$@" 2>>"$work/client.log"; }
start
seen=$(client write 1)
kill -9 "$broker" && wait "$broker" 2>/dev/null || true
start
seen+=$'\n'$(client read 60)
echo "$seen"
[ "$seen" = "write: offset 3
read: no offset
read: offset 3" ] || { tail -5 "$work/client.log"; echo "changed"; exit 1; }
