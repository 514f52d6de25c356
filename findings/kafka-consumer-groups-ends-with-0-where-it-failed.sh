#!/usr/bin/env bash
# kafka-consumer-groups ends with status 0 where it failed.
#
# Guess: a tool of an operator's scripts ends with 0 only if it has done what was asked, as kafka-topics does.
# Seen (Kafka 4.3.1): of a group that is alive neither the reset of offsets, nor the deletion of an offset, nor that of the group
#   is done, and a group that does not exist can be neither described nor deleted, nor reset for a topic that does not exist.
#   Each is explained by a line that begins with "Error", and the status is 0. kafka-topics of the same release ends with 1
#   for a missing topic.
# Why it matters: `set -e`, `&&`, a job of a scheduler or of a pipeline go on as if the offsets had been moved: the usual
#   order of stopping an application, resetting its group and starting it again resets nothing while one member is still
#   in its session timeout. A check by the status whether a group exists always finds it. Only the text tells.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
for artifact in kafka_2.13 kafka-tools; do
  java -jar "$ivy" -cache "$work/ivy" -dependency org.apache.kafka "$artifact" 4.3.1 -confs default \
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
cat >"$work/Client.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.*;

class Client {
  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", "alive", "enable.auto.commit", "false");
    Admin.create(config).createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of("t"));
    while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(200));
    consumer.commitSync(Map.of(consumer.assignment().iterator().next(), new OffsetAndMetadata(0)));
    System.out.println("ready");
    while (true) consumer.poll(Duration.ofMillis(200));
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" >"$work/ready" 2>"$work/client.log" &
client=$!
trap 'kill -9 "$client" "$broker" 2>/dev/null; wait "$client" "$broker" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 120); do grep -q ready "$work/ready" && break || sleep 1; done
run() {
  local tool=$1 status=0
  shift
  "${kafka[@]}" "org.apache.kafka.tools.$tool" --bootstrap-server "127.0.0.1:$port" "$@" >"$work/tool.log" 2>&1 || status=$?
  cat "$work/tool.log" >>"$work/tools.log"
  echo "$*: status $status, $(grep -qi '^error' "$work/tool.log" && echo error || echo no error)"
}
groups=consumer.group.ConsumerGroupCommand
{
  run "$groups" --group alive --reset-offsets --to-earliest --topic t --execute
  run "$groups" --group alive --delete-offsets --topic t
  run "$groups" --group alive --delete
  run "$groups" --group missing --describe
  run "$groups" --group missing --delete
  run "$groups" --group new --reset-offsets --to-earliest --topic missing --execute
  run TopicCommand --describe --topic missing
} | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 40 "$work/tools.log"; exit 1; }
--group alive --reset-offsets --to-earliest --topic t --execute: status 0, error
--group alive --delete-offsets --topic t: status 0, error
--group alive --delete: status 0, error
--group missing --describe: status 0, error
--group missing --delete: status 0, error
--group new --reset-offsets --to-earliest --topic missing --execute: status 0, error
--describe --topic missing: status 1, error
TEXT
