#!/usr/bin/env bash
# An offset that kafka-go commits with a RetentionTime grows old while its group lives, and goes when its last member leaves.
#
# Guess: since KIP-211 (Kafka 2.1) the broker alone says how long offsets are kept, from the moment at which the group became
#   empty. The time in the request is of the past: OffsetCommit lost it in version 5 and newer brokers ignore it in older ones.
# Seen (kafka-go 0.4.51, Kafka 4.3.1 with offsets.retention.minutes=1): the broker stores commit time plus RetentionTime with the
#   offset, and this replaces its own rule in both directions. Three groups commit once and live on. Right after the members
#   have left, the offset with 8 seconds is gone, with its group; the one without a time goes a minute later; that with an
#   hour outlives the broker's retention.
# Why it matters: with a RetentionTime of a day, a partition that was silent for two days has its offset for as long as the group
#   lives, and loses it in the seconds of the next deployment: the new instance begins at its start offset, and reads all
#   again or skips. No setting of the broker tells, and the log has it only in the value's version 1, as a time of its own.
set -euo pipefail
work=$(mktemp -d)
broker=
reader=
trap 'for each in $reader $broker; do { kill -9 "$each"; wait "$each"; } 2>/dev/null || true; done; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 confluent-kafka==2.16.1
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
offsets.retention.minutes=1
offsets.retention.check.interval.ms=1000
group.initial.rebalance.delay.ms=0
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$work/jars/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log" 2>&1
"${kafka[@]}" kafka.Kafka "$work/server.properties" >"$work/broker.log" 2>&1 &
broker=$!
for _ in $(seq 240); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 1; done
mkdir "$work/program"
cat >"$work/program/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	var readers []*kafka.Reader
	for group, retention := range map[string]time.Duration{"none": 0, "short": 8 * time.Second, "long": time.Hour} {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: os.Args[1:2], GroupID: group, Topic: "t",
			StartOffset: kafka.FirstOffset, RetentionTime: retention})
		if _, err := reader.ReadMessage(context.Background()); err != nil {
			log.Fatal(err)
		}
		readers = append(readers, reader)
	}
	fmt.Println("committed")
	fmt.Scanln()
	var closing sync.WaitGroup
	for _, reader := range readers {
		closing.Go(func() { reader.Close() })
	}
	closing.Wait()
	fmt.Println("closed")
}
GO
(cd "$work/program" && go mod init finding && go get github.com/segmentio/kafka-go@v0.4.51 && go build -o "$work/reader" .) >"$work/go.log" 2>&1
cat >"$work/groups.py" <<'PYTHON'
import subprocess
import sys
import time

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient, NewTopic

server, program = sys.argv[1:]


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


admin = AdminClient({"bootstrap.servers": server})
patiently(lambda: admin.create_topics([NewTopic("t", 1, 1)])["t"].result())
producer = Producer({"bootstrap.servers": server})
producer.produce("t", b"record", partition=0)
producer.flush()


def show(when):
    print(f"{when}:")
    for group in ("none", "short", "long"):
        state = admin.describe_consumer_groups([group])[group].result().state.name
        question = ConsumerGroupTopicPartitions(group)
        found = admin.list_consumer_group_offsets([question])[group].result().topic_partitions
        print(f"  {group}: {state}, committed {[each.offset for each in found]}", flush=True)


reader = subprocess.Popen([program, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
reader.stdout.readline()
time.sleep(10)
show("10 seconds after the commits, members live")
reader.communicate("\n")
time.sleep(3)
show("3 seconds after the members left")
time.sleep(60)
show("63 seconds after the members left")
PYTHON
"$work/venv/bin/python" "$work/groups.py" "127.0.0.1:$port" "$work/reader" 2>"$work/groups.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/groups.log"; exit 1; }
10 seconds after the commits, members live:
  none: STABLE, committed [1]
  short: STABLE, committed [1]
  long: STABLE, committed [1]
3 seconds after the members left:
  none: EMPTY, committed [1]
  short: DEAD, committed []
  long: EMPTY, committed [1]
63 seconds after the members left:
  none: DEAD, committed []
  short: DEAD, committed []
  long: EMPTY, committed [1]
TEXT
