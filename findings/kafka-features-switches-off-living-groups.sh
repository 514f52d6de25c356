#!/usr/bin/env bash
# kafka-features switches off the protocol of living groups, which end with a fatal error, and nothing asks or warns.
#
# Guess: a downgrade of a feature is refused where it would lose something, as that of metadata.version is; while groups of the new
#   protocol have members or offsets, group.version stays, or their members change to the classic protocol as in an upgrade.
# Seen (Kafka 4.3.1, Java clients, a living group of each kind): metadata.version is refused. group.version=0 and share.version=0
#   "can be downgraded" in the dry run, and are, with status 0. Within seconds the KIP-848 consumer and the share consumer end
#   with UnsupportedVersionException; the classic one reads on. Both groups stay listed. Of one kafka-consumer-groups says that
#   it is not found, of the other kafka-share-groups that the version of the API is not supported. With the features up
#   again both are described with the offsets that they had, but their members do not come back.
# Why it matters: one command, meant for brokers, stops every application of these protocols at once, and the tools that would show
#   their lag fail at that moment. "Not found" is no deletion here: the offsets are in the log and count again later. Their
#   members are in the log as well until their sessions end, so a look at the log alone sees Stable groups that stand.
set -euo pipefail
work=$(mktemp -d)
broker=
members=
trap 'for each in $members $broker; do { kill -9 "$each"; wait "$each"; } 2>/dev/null || true; done; rm -rf "$work"' EXIT
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
cat >"$work/Members.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

class Members {
  interface Poll {
    int count() throws Exception;
  }

  static Thread member(String name, Poll poll) {
    var thread = new Thread(() -> {
      boolean reads = false;
      while (true) {
        try {
          if (poll.count() > 0 && !reads) {
            System.out.println(name + ": reads");
            reads = true;
          }
        } catch (Exception error) {
          System.out.println(name + ": " + error.getClass().getSimpleName());
          return;
        }
      }
    });
    thread.start();
    return thread;
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", args[0]);
    var admin = Admin.create(config);
    admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
    var share = new ConfigResource(ConfigResource.Type.GROUP, "share");
    var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
    admin.incrementalAlterConfigs(Map.of(share, List.of(earliest))).all().get();
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int n = 0; n < 10; n++) producer.send(new ProducerRecord<>("t", "record")).get();
    }
    var members = new ArrayList<Thread>();
    for (var protocol : List.of("classic", "consumer")) {
      var own = new HashMap<String, Object>(config);
      own.putAll(Map.of("group.id", protocol, "group.protocol", protocol, "auto.offset.reset", "earliest", "auto.commit.interval.ms", "500"));
      var consumer = new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
      consumer.subscribe(List.of("t"));
      members.add(member(protocol, () -> consumer.poll(Duration.ofMillis(200)).count()));
    }
    var own = new HashMap<String, Object>(config);
    own.put("group.id", "share");
    var consumer = new KafkaShareConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of("t"));
    members.add(member("share", () -> consumer.poll(Duration.ofMillis(200)).count()));
    members.get(1).join();
    members.get(2).join();
    System.out.println("classic: " + (members.get(0).isAlive() ? "reads on" : "ended"));
    System.exit(0);
  }
}
JAVA
"${kafka[@]}" "$work/Members.java" "127.0.0.1:$port" >"$work/members" 2>"$work/members.log" &
members=$!
for _ in $(seq 60); do [ "$(grep -c reads "$work/members")" = 3 ] && break || sleep 1; done
sleep 3
tool() {
  local class=$1 status=0
  shift
  "${kafka[@]}" "org.apache.kafka.tools.$class" --bootstrap-server "127.0.0.1:$port" "$@" >"$work/tool.log" 2>>"$work/tools.log" || status=$?
  cat "$work/tool.log" >>"$work/tools.log"
  echo "$*: status $status"
}
downgrade() {
  tool FeatureCommand downgrade "$@"
  sed -n 's/^Could not.*\(Refusing to [^.]*\).*/  \1/p;s/^[a-z]*.version \(was\|can be\) /  &/p' "$work/tool.log"
}
groups() {
  tool consumer.group.ConsumerGroupCommand --describe --group consumer
  awk '/^Error/ { print " ", $0 } $1 == "consumer" { print "  committed", $4, "lag", $6 }' "$work/tool.log"
  tool consumer.group.ShareGroupCommand --describe --group share
  awk '/^Error/ { print " ", $0 } $1 == "share" { print "  lag", $5 }' "$work/tool.log"
  tool GroupsCommand --list
  awk 'NR > 1 { print " ", $1, $2 }' "$work/tool.log" | LC_ALL=C sort
}
{
  downgrade --feature metadata.version=7
  downgrade --dry-run --feature group.version=0 --feature share.version=0
  downgrade --feature group.version=0 --feature share.version=0
  for _ in $(seq 60); do kill -0 "$members" 2>/dev/null && sleep 1 || break; done
  LC_ALL=C sort "$work/members"
  groups
  tool FeatureCommand upgrade --feature group.version=1 --feature share.version=1
  groups
} 2>&1 | sed 's/ *$//' | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -n 40 "$work/members.log" "$work/tools.log"; exit 1; }
downgrade --feature metadata.version=7: status 1
  Refusing to perform the requested downgrade because it might delete metadata information
downgrade --dry-run --feature group.version=0 --feature share.version=0: status 0
  group.version can be downgraded to 0.
  share.version can be downgraded to 0.
downgrade --feature group.version=0 --feature share.version=0: status 0
  group.version was downgraded to 0.
  share.version was downgraded to 0.
classic: reads
classic: reads on
consumer: UnsupportedVersionException
consumer: reads
share: UnsupportedVersionException
share: reads
--describe --group consumer: status 0
  Error: Executing consumer group command failed due to org.apache.kafka.common.errors.GroupIdNotFoundException: Group consumer is not a classic group.
--describe --group share: status 0
  Error: Executing share group command failed due to org.apache.kafka.common.errors.UnsupportedVersionException: The version of API is not supported.
--list: status 0
  classic Classic
  consumer Consumer
  share Share
upgrade --feature group.version=1 --feature share.version=1: status 0
--describe --group consumer: status 0
  committed 10 lag 0
--describe --group share: status 0
  lag 0
--list: status 0
  classic Classic
  consumer Consumer
  share Share
TEXT
