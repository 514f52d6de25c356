#!/usr/bin/env bash
# Kafka's admin client asks for a partition that does not exist thousands of times a second, whatever its backoff.
#
# Guess: a partition that is missing in a known topic is an error at once, as a missing topic is, or a question that is repeated
#   after retry.backoff.ms until the time limit of the call.
# Seen (Kafka 4.3.1, Java admin client, retry.backoff.ms and its maximum 1000, a limit of 5 s): listOffsets, deleteRecords and
#   describeProducers of partition 9 of a topic that has one send metadata requests without a pause, 17,000 in these 5 s
#   on two shared cores, until TimeoutException. The same call for a topic that does not exist ends after four requests
#   with UnknownTopicOrPartitionException, and the consumer's endOffsets for that partition sends seven.
# Why it matters: one stale partition, of a topic that was made again with fewer for instance, turns a monitor's look at the ends
#   of logs into a minute of such load with the default limit, after which all() has nothing of the other partitions either;
#   and the broker sees a storm of metadata requests whose cause is a tool that only reads.
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
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;

class Client {
  static final TopicPartition PART = new TopicPartition("t", 9);

  interface Call { void make() throws Exception; }

  static void show(String name, Map<MetricName, ? extends Metric> metrics, Call call) {
    String end = "ended";
    try {
      call.make();
    } catch (Exception error) {
      end = (error.getCause() == null ? error : error.getCause()).getClass().getSimpleName();
    }
    double sent = 0;
    for (var metric : metrics.values()) {
      var of = metric.metricName();
      boolean counts = of.name().equals("request-total") && of.group().matches("(admin-client|consumer)-metrics");
      if (counts) sent += (double) metric.metricValue();
    }
    System.err.println(name + ": " + sent);
    String many = sent > 1000 ? "more than 1000" : sent < 100 ? "less than 100" : "some hundred";
    System.out.println(name + ": " + end + ", " + many + " requests");
  }

  static void ask(String name, Map<String, Object> config, java.util.function.Function<Admin, KafkaFuture<?>> call) {
    try (var admin = Admin.create(config)) {
      show(name, admin.metrics(), () -> call.apply(admin).get());
    }
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", args[0]));
    try (var admin = Admin.create(config)) {
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
      while (admin.describeTopics(List.of("t")).allTopicNames().get().isEmpty()) Thread.sleep(100);
    }
    config.putAll(Map.of("default.api.timeout.ms", 5000, "request.timeout.ms", 4000));
    config.putAll(Map.of("retry.backoff.ms", 1000, "retry.backoff.max.ms", 1000));
    var topic = Map.of(new TopicPartition("missing", 0), OffsetSpec.latest());
    var before = Map.of(PART, RecordsToDelete.beforeOffset(1));
    ask("listOffsets, missing topic", config, admin -> admin.listOffsets(topic).all());
    ask("listOffsets, missing partition", config, admin -> admin.listOffsets(Map.of(PART, OffsetSpec.latest())).all());
    ask("deleteRecords, missing partition", config, admin -> admin.deleteRecords(before).all());
    ask("describeProducers, missing partition", config, admin -> admin.describeProducers(List.of(PART)).all());
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      show("endOffsets, missing partition", consumer.metrics(), () -> consumer.endOffsets(List.of(PART)));
    }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/client.log"; exit 1; }
listOffsets, missing topic: UnknownTopicOrPartitionException, less than 100 requests
listOffsets, missing partition: TimeoutException, more than 1000 requests
deleteRecords, missing partition: TimeoutException, more than 1000 requests
describeProducers, missing partition: TimeoutException, more than 1000 requests
endOffsets, missing partition: TimeoutException, less than 100 requests
TEXT
