#!/usr/bin/env bash
# Spark's Kafka source reads nothing of `__consumer_offsets`, without an error.
#
# Guess: a topic that `subscribe` names is read, and one that cannot be read fails the query. Consumers of kafka-clients
#   leave out internal topics of patterns only, and read this topic when it is named.
# Seen (pyspark and spark-sql-kafka 4.2.0, Kafka 4.3.1): the query ends without an error and without a row. The source asks
#   an admin client for the partitions, and there it leaves internal topics out. With
#   spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true, which asks a consumer, the same query has the records, and
#   those of the groups that Spark joins for it.
# Why it matters: a count of 0 looks like an empty topic, and a stream runs for ever without a row. The older way is
#   deprecated, and the only one by which Spark's own source reads commits.
set -euo pipefail
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || kill -9 "$broker" 2>/dev/null; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kafka-python==3.0.12 pyspark==4.2.0
ivy=$(ls "$work"/venv/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
retrieve() { java -jar "$ivy" -cache "$work/ivy" -dependency "$1" "$2" "$3" -confs default -retrieve "$work/$4/[artifact]-[revision].[ext]" >>"$work/ivy.log"; }
retrieve org.apache.kafka kafka_2.13 4.3.1 kafka
retrieve org.apache.spark spark-sql-kafka-0-10_2.13 4.2.0 source
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
log.dirs=$work/data
PROPERTIES
kafka=(java -Xmx256m -cp "$work/kafka/*")
"${kafka[@]}" kafka.tools.StorageTool format --cluster-id AAAAAAAAAAAAAAAAAAAAAA --config "$work/server.properties" >"$work/format.log"
"${kafka[@]}" kafka.Kafka "$work/server.properties" >>"$work/broker.log" 2>&1 &
broker=$!
cat >"$work/read.py" <<'PYTHON'
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from pyspark.sql import SparkSession

server, jars = sys.argv[1:]


def patiently(call):
    for _ in range(120):
        try:
            return call()
        except Exception:
            time.sleep(0.5)
    return call()


producer = patiently(lambda: KafkaProducer(bootstrap_servers=server))
for _ in range(3):
    patiently(lambda: producer.send("t", b"x", partition=0).get(10))
consumer = KafkaConsumer(bootstrap_servers=server, group_id="g", enable_auto_commit=False)
partition = TopicPartition("t", 0)
consumer.assign([partition])
for offset in range(3):
    patiently(lambda: consumer.commit({partition: OffsetAndMetadata(offset, "", -1)}))
named = KafkaConsumer("__consumer_offsets", bootstrap_servers=server, auto_offset_reset="earliest", consumer_timeout_ms=5000)
print("a consumer that names the topic:", sum(1 for _ in named), "records")
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", jars).getOrCreate()
for deprecated in ("false", "true"):
    spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", deprecated)
    for topic in ("t", "__consumer_offsets"):
        rows = spark.read.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", topic).load().count()
        print(f"Spark, deprecated offset fetching {deprecated}, {topic}: {'some' if rows else 'no'} rows")
PYTHON
jars=$(ls "$work"/source/*.jar | paste -sd,)
"$work/venv/bin/python" "$work/read.py" "127.0.0.1:$port" "$jars" 2>"$work/log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/log"; exit 1; }
a consumer that names the topic: 3 records
Spark, deprecated offset fetching false, t: some rows
Spark, deprecated offset fetching false, __consumer_offsets: no rows
Spark, deprecated offset fetching true, t: some rows
Spark, deprecated offset fetching true, __consumer_offsets: some rows
TEXT
