#!/usr/bin/env bash
# The formatters that Kafka's console consumer has for internal topics write no line ends.
#
# Guess: one record, one line, as the tool's own formatter, its formatters of 3.7, and every tool behind a pipe have it.
# Seen (Kafka 4.3.1, OffsetsMessageFormatter): three commits are three JSON objects in one line, which does not end either.
#   The sum of messages that the tool prints at its end is on the error stream. The formatters of group metadata, of
#   transactions and of share groups share the code.
# Why it matters: what reads lines reads nothing while the consumer runs: `while read` gets no commit, not even at
#   the end, and a log shipper waits for ever; grep answers with every commit if one matches. A reader that takes one JSON
#   object after the other, such as jq, hides the difference.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
for artifact in kafka_2.13 kafka-tools; do
  java -jar "$ivy" -cache "$work/ivy" -dependency org.apache.kafka $artifact 4.3.1 -confs default \
    -retrieve "$work/jars/[artifact]-[revision].[ext]" >"$work/ivy.log"
done
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
cat >"$work/Commit.java" <<'JAVA'
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

class Commit {
  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
      for (String group : List.of("g1", "g2", "g3"))
        admin.alterConsumerGroupOffsets(group, Map.of(new TopicPartition("t", 0), new OffsetAndMetadata(7))).all().get();
    }
  }
}
JAVA
"${kafka[@]}" "$work/Commit.java" "127.0.0.1:$port" 2>"$work/commit.log" || tail "$work/commit.log"
consume() {
  "${kafka[@]}" org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "127.0.0.1:$port" --topic __consumer_offsets \
    --from-beginning --max-messages 3 --timeout-ms 120000 --formatter "org.apache.kafka.tools.consumer.$1" \
    --formatter-property print.offset=true --formatter-property print.value=false 2>"$work/consumer.log"
}
consume DefaultMessageFormatter >"$work/default" || tail "$work/consumer.log"
consume OffsetsMessageFormatter >"$work/offsets" || tail "$work/consumer.log"
{
  echo "default: $(wc -l <"$work/default") line ends"
  echo "offsets: $(wc -l <"$work/offsets") line ends, $(grep -o '"group":"g[123]"' "$work/offsets" | wc -l) commits"
  echo "lines with g2: $(grep -c g2 "$work/offsets"), groups in them: $(grep g2 "$work/offsets" | grep -o '"g[123]"' | paste -s -d ' ')"
} | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { head -c 500 "$work/offsets"; exit 1; }
default: 3 line ends
offsets: 0 line ends, 3 commits
lines with g2: 1, groups in them: "g1" "g2" "g3"
TEXT
