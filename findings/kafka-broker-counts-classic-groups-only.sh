#!/usr/bin/env bash
# The broker's metric NumGroups counts classic groups only, while NumOffsets beside it counts the offsets of all.
#
# Guess: kafka.coordinator.group:type=GroupMetadataManager has the number of groups that this coordinator has, as ListGroups answers
#   it, and by state: what dashboards of brokers show as "consumer groups". A group that changes group.protocol stays in it.
# Seen (Kafka 4.3.1, one broker, JMX): of six groups, one with members of the classic protocol, three whose members moved from it to
#   that of KIP-848, one that only ever committed and one share group, NumGroups is 2, the first and the one without members,
#   and the counts by state are those of the two. NumOffsets is 5. The other groups are in other metrics, group-count by
#   protocol. Both are renewed once a minute; NumOffsets at once.
# Why it matters: the number falls while applications move to the new protocol, and is 0 when the last one has moved: an alert on lost
#   groups fires, one on too many never does again, and offsets per group grow without a limit. A monitor that reads the groups
#   themselves counts more than the broker, and is right.
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
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
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
import javax.management.*;
import javax.management.remote.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

class Client {
  static Map<String, Object> config;
  static Admin admin;
  static MBeanServerConnection beans;
  static final Map<TopicPartition, OffsetAndMetadata> COMMIT = Map.of(new TopicPartition("t", 0), new OffsetAndMetadata(0));

  static KafkaConsumer<String, String> member(String group, String protocol) {
    var own = new HashMap<String, Object>(config);
    own.putAll(Map.of("group.id", group, "group.protocol", protocol, "enable.auto.commit", "false"));
    var consumer = new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of("t"));
    while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(200));
    return consumer;
  }

  static Object yammer(String name) throws Exception {
    return beans.getAttribute(new ObjectName("kafka.coordinator.group:type=GroupMetadataManager,name=" + name), "Value");
  }

  static Object count(String protocol) throws Exception {
    return beans.getAttribute(new ObjectName("kafka.server:type=group-coordinator-metrics,protocol=" + protocol), "group-count");
  }

  static void show() throws Exception {
    var kinds = new TreeMap<String, Integer>();
    for (var group : admin.listGroups().all().get()) kinds.merge(group.type().get() + "", 1, Integer::sum);
    System.out.println("listed " + kinds + ", NumOffsets " + yammer("NumOffsets"));
    System.out.println("NumGroups " + yammer("NumGroups") + ", Stable " + yammer("NumGroupsStable") + ", Empty " + yammer("NumGroupsEmpty"));
    System.out.println("group-count: classic " + count("classic") + ", consumer " + count("consumer") + ", share " + count("share"));
  }

  public static void main(String[] args) throws Exception {
    config = Map.of("bootstrap.servers", args[0]);
    admin = Admin.create(config);
    var address = com.sun.tools.attach.VirtualMachine.attach(args[1]).startLocalManagementAgent();
    beans = JMXConnectorFactory.connect(new JMXServiceURL(address)).getMBeanServerConnection();
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    var members = new ArrayList<KafkaConsumer<String, String>>();
    for (var group : List.of("stays", "moves-1", "moves-2", "moves-3")) {
      var consumer = member(group, "classic");
      consumer.commitSync(COMMIT);
      if (group.startsWith("moves")) {
        consumer.close();
        consumer = member(group, "consumer");
        consumer.commitSync(COMMIT);
      }
      members.add(consumer);
    }
    admin.alterConsumerGroupOffsets("only-commits", COMMIT).all().get();
    var own = new HashMap<String, Object>(config);
    own.put("group.id", "share");
    var share = new KafkaShareConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    share.subscribe(List.of("t"));
    for (int n = 0; n < 20; n++) share.poll(Duration.ofMillis(200));
    Thread.sleep(65_000);
    show();
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Client.java" "127.0.0.1:$port" "$broker" 2>"$work/client.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/client.log"; exit 1; }
listed {Classic=2, Consumer=3, Share=1}, NumOffsets 5
NumGroups 2, Stable 1, Empty 1
group-count: classic 2, consumer 3, share 1
TEXT
