#!/usr/bin/env bash
# A name that a consumer group ever used cannot become a share group, and the error says that the group is not found.
#
# Guess: empty groups change their type: a KIP-848 consumer takes over the name of an Empty classic group and the reverse. A
#   share consumer does the same, or is refused with INCONSISTENT_GROUP_PROTOCOL.
# Seen (Kafka 4.3.1, Java clients): one plain commit, by a tool for instance, is enough for the name to be refused to share
#   consumers: GroupIdNotFoundException, while ListGroups shows the group. A share group's name refuses plain commits and
#   KIP-848 consumers with that same error, classic consumers with another. Nothing but the deletion of the group helps.
# Why it matters: offsets that were put in place before the first start, or the remains of a consumer application that became
#   a share one, keep the application out; and a monitor that takes "not found" for "deleted" forgets a group that exists.
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
import java.time.Duration;
import org.apache.kafka.common.serialization.StringDeserializer;

class Client {
  static String server;
  static Admin admin;

  static void use(String kind, String group) throws Exception {
    Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", server, "group.id", group));
    StringDeserializer text = new StringDeserializer();
    if (kind.equals("plain")) {
      var offset = Map.of(new TopicPartition("t", 0), new OffsetAndMetadata(0));
      admin.alterConsumerGroupOffsets(group, offset).all().get();
    } else if (kind.equals("share"))
      try (var consumer = new KafkaShareConsumer<>(config, text, text)) {
        consumer.subscribe(List.of("t"));
        while (!type(group).equals("Share/Stable")) consumer.poll(Duration.ofMillis(200));
      }
    else {
      config.put("group.protocol", kind);
      try (var consumer = new KafkaConsumer<>(config, text, text)) {
        consumer.subscribe(List.of("t"));
        while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(200));
      }
    }
  }

  static String type(String group) throws Exception {
    for (GroupListing each : admin.listGroups().all().get())
      if (each.groupId().equals(group)) return each.type().get() + "/" + each.groupState().get();
    return "none";
  }

  public static void main(String[] args) throws Exception {
    server = args[0];
    admin = Admin.create(Map.of("bootstrap.servers", server));
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    for (int tries = 0; tries < 120; tries++)  // the coordinator may still be loading
      try {
        use("plain", "first");
        break;
      } catch (Exception e) {
        Thread.sleep(500);
      }
    List<String> kinds = List.of("plain", "classic", "consumer", "share");
    for (String old : kinds)
      for (String next : kinds) {
        String group = old + " then " + next, seen = "accepted";
        if (old.equals(next)) continue;
        use(old, group);
        while (!type(group).endsWith("/Empty")) Thread.sleep(100);
        try {
          use(next, group);
        } catch (Exception e) {
          seen = (e.getCause() == null ? e : e.getCause()).getClass().getSimpleName();
        }
        while (!type(group).endsWith("/Empty")) Thread.sleep(100);
        System.out.println(group + ": " + seen + ", is " + type(group));
      }
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/client.log"; exit 1; }
plain then classic: accepted, is Classic/Empty
plain then consumer: accepted, is Consumer/Empty
plain then share: GroupIdNotFoundException, is Classic/Empty
classic then plain: accepted, is Classic/Empty
classic then consumer: accepted, is Consumer/Empty
classic then share: GroupIdNotFoundException, is Classic/Empty
consumer then plain: accepted, is Consumer/Empty
consumer then classic: accepted, is Classic/Empty
consumer then share: GroupIdNotFoundException, is Consumer/Empty
share then plain: GroupIdNotFoundException, is Share/Empty
share then classic: InconsistentGroupProtocolException, is Share/Empty
share then consumer: GroupIdNotFoundException, is Share/Empty
TEXT
