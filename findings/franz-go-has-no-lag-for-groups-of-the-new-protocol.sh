#!/usr/bin/env bash
# The lag that franz-go's admin client computes is 0 for a group of KIP-848, and the call has no error.
#
# Guess: kadm's Lag takes the commits and the ends of the partitions, which do not depend on the protocol of the members; what it
#   cannot learn of members stays empty.
# Seen (kadm 1.20.0, franz-go 1.22.3, Kafka 4.3.1, members of confluent-kafka 2.16.1): two living groups are at 4 of 10. Lag gives
#   6 for the one with the classic protocol. The other one is "Dead" to it, without members, without partitions and with a
#   total of 0. Lag itself returns no error: GROUP_ID_NOT_FOUND is in the group's own result. FetchOffsets of the same
#   client has the commit.
# Why it matters: in a program that checks the error of the call and reads Total(), an exporter or an autoscaler, the lag of an
#   application falls to 0 on the day on which it changes group.protocol, and stays there however far it falls behind. One
#   that does look at the group's error learns that a living group does not exist.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || { kill -9 "$broker"; wait "$broker" || true; } 2>/dev/null; rm -rf "$work"' EXIT
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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	admin, ctx := kadm.NewClient(client), context.Background()
	lags, err := admin.Lag(ctx, "classic", "consumer")
	fmt.Println("error of the call:", err)
	for _, group := range lags.Sorted() {
		offsets, err := admin.FetchOffsets(ctx, group.Group)
		if err != nil {
			log.Fatal(err)
		}
		committed, _ := offsets.Lookup("t", 0)
		fmt.Printf("%s: %s, members %d, partitions %d, lag %d, committed %d\n", group.Group, group.State, len(group.Members),
			len(group.Lag.Sorted()), group.Lag.Total(), committed.At)
		fmt.Printf("%s: error of the group: %v\n", group.Group, group.Error())
	}
}
GO
(cd "$work/program" && go mod init finding && go get github.com/twmb/franz-go/pkg/kadm@v1.20.0 github.com/twmb/franz-go@v1.22.3 &&
  go build -o "$work/lag" .) >"$work/go.log" 2>&1
cat >"$work/members.py" <<'PYTHON'
import subprocess
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
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
for _ in range(10):
    producer.produce("t", b"record", partition=0)
producer.flush()
members = []
for protocol in ("classic", "consumer"):
    config = {"bootstrap.servers": server, "group.id": protocol, "group.protocol": protocol, "enable.auto.commit": False}
    member = Consumer({**config, "auto.offset.reset": "earliest"})
    member.subscribe(["t"])
    while not member.assignment():
        member.poll(0.2)
    patiently(lambda: member.commit(offsets=[TopicPartition("t", 0, 4)], asynchronous=False))
    members.append(member)
subprocess.run([program, server], check=True)
for member in members:
    member.close()
PYTHON
"$work/venv/bin/python" "$work/members.py" "127.0.0.1:$port" "$work/lag" 2>"$work/members.log" | tee "$work/seen" || true
diff "$work/seen" - <<'TEXT' || { tail -n 20 "$work/members.log"; exit 1; }
error of the call: <nil>
classic: Stable, members 1, partitions 1, lag 6, committed 4
classic: error of the group: <nil>
consumer: Dead, members 0, partitions 0, lag 0, committed 4
consumer: error of the group: GROUP_ID_NOT_FOUND: The group id does not exist.
TEXT
