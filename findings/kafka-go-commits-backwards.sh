#!/usr/bin/env bash
# kafka-go commits backwards where messages are committed in another order than they were read.
#
# Guess: a commit that is not the newest changes nothing, as with sarama's MarkMessage; the documentation of CommitMessages says that
#   the highest message passed to it commits all previous ones.
# Seen (kafka-go 0.4.51, Kafka 4.3.1): the highest counts within one call, or within one CommitInterval. Between calls nothing
#   is remembered: CommitMessages of record 9 commits 10, and of record 2 afterwards commits 3, without an error. The
#   next member of the group begins at record 3.
# Why it matters: workers that take turns with the messages of a partition and commit what they have finished move the group
#   back, in proportion to the traffic: lag jumps, an alert on rewinds is right, and a restart at the wrong moment
#   processes records again that were committed. A test with CommitInterval, in which all commits fall together, passes.
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
mkdir "$work/program"
cat >"$work/program/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func patiently(call func() error) {
	var err error
	for tries := 0; tries < 120; tries++ {
		if err = call(); err == nil {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	check(err)
}

func main() {
	server := os.Args[1]
	address, err := net.ResolveTCPAddr("tcp", server)
	check(err)
	client := &kafka.Client{Addr: address, Timeout: 10 * time.Second}
	patiently(func() error {
		topic := kafka.TopicConfig{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}
		made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
		if err != nil {
			return err
		}
		return made.Errors["t"]
	})
	writer := &kafka.Writer{Addr: address, Topic: "t", RequiredAcks: kafka.RequireAll}
	patiently(func() error { return writer.WriteMessages(ctx, make([]kafka.Message, 10)...) })
	committed := func() (offset int64) {
		patiently(func() error {
			found, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: "g", Topics: map[string][]int{"t": {0}}})
			if err == nil {
				err = found.Error
			}
			if err == nil {
				offset = found.Topics["t"][0].CommittedOffset
			}
			return err
		})
		return
	}
	reader := func() *kafka.Reader {
		return kafka.NewReader(kafka.ReaderConfig{Brokers: []string{server}, GroupID: "g", Topic: "t", StartOffset: kafka.FirstOffset})
	}
	first := reader()
	var messages []kafka.Message
	for len(messages) < 10 {
		message, err := first.FetchMessage(ctx)
		check(err)
		messages = append(messages, message)
	}
	check(first.CommitMessages(ctx, messages[9], messages[2]))
	fmt.Println("records 9 and 2 in one call:", committed())
	check(first.CommitMessages(ctx, messages[2]))
	fmt.Println("record 2 in the next call:", committed())
	check(first.Close())
	message, err := reader().FetchMessage(ctx)
	check(err)
	fmt.Println("the next member begins at record", message.Offset)
}
GO
(cd "$work/program" && go mod init finding && go get github.com/segmentio/kafka-go@v0.4.51 && go build -o "$work/commit" .) >"$work/go.log" 2>&1
"$work/commit" "127.0.0.1:$port" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/broker.log"; exit 1; }
records 9 and 2 in one call: 10
record 2 in the next call: 3
the next member begins at record 3
TEXT
