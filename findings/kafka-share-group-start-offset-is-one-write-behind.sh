#!/usr/bin/env bash
# The start offset that Kafka gives for a share group is one write behind: it does not reach the end of a topic at rest.
#
# Guess: DescribeShareGroupOffsets answers where the group stands. With every record acknowledged its start offset is the end
#   of the partition, and end minus start offset is what is left to do, as with the offsets of other groups.
# Seen (Kafka 4.3.1, share consumer of the same release, one partition): 10 records read and acknowledged, and a start offset
#   of 0 is answered, also after the consumer has closed; with one further record it is 10, with the next one 11 of 12. The
#   answer is what was persisted before the last acknowledgement. Only the lag, a field of the answer since 4.2, is right: 0.
# Why it matters: "end minus start" of an idle share group is as much as its last batch of acknowledgements for ever. Tools
#   that compute it so, and all that speak to the API's first version without the lag, show a group that is stuck.
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
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
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
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

class Client {
  static Admin admin;
  static final TopicPartition PART = new TopicPartition("t", 0);

  static String show(long end) throws Exception {
    for (int tries = 0;; tries++) {
      var found = admin.listShareGroupOffsets(Map.of("g", new ListShareGroupOffsetsSpec())).all().get().get("g").get(PART);
      boolean done = found != null && found.lag().isPresent() && found.lag().get() == 0;
      if (done || tries == 100) return "end " + end + ", start offset " + (found == null ? null : found.startOffset() + ", lag " + found.lag().get());
      Thread.sleep(100);
    }
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", "g");
    admin = Admin.create(config);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
    admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "g"), List.of(earliest))).all().get();
    long end = 0;
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        var consumer = new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of("t"));
      for (int count : List.of(10, 1, 1)) {
        for (int i = 0; i < count; i++, end++) producer.send(new ProducerRecord<>("t", 0, null, "x")).get();
        for (int read = 0; read < count; ) read += consumer.poll(Duration.ofMillis(500)).count();
        consumer.commitSync();
        System.out.println(count + " more: " + show(end));
      }
    }
    System.out.println("closed: " + show(end));
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
10 more: end 10, start offset 0, lag 0
1 more: end 11, start offset 10, lag 0
1 more: end 12, start offset 11, lag 0
closed: end 12, start offset 11, lag 0
TEXT
