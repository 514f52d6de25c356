#!/usr/bin/env bash
# The two options that elect_leaders of confluent-kafka documents cannot be given.
#
# Guess: AdminClient.elect_leaders(type, partitions, request_timeout=…, operation_timeout=…) takes its two documented
#   options as every other call of this client does.
# Seen (confluent-kafka 2.6.1, the release after the call appeared, and 2.16.1; Python 3.11; no broker needed): without an
#   option the call returns a future. With either option it ends with SystemError, which Python raises for faults of an
#   extension, not of arguments: "more argument specifiers than keyword list entries". With both it ends with a TypeError
#   of the count of arguments. Nothing is sent in these cases.
# Why it matters: a tool that moves leaders back after an outage, or elects an unclean one on purpose, is stuck with the
#   client's own time limit of a minute, and a wrapper that adds its time limit to every admin call fails on this one
#   only, at the moment it is needed; `except KafkaException` does not catch it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/elect.py" <<'PYTHON'
import sys

import confluent_kafka
from confluent_kafka.admin import AdminClient

admin = AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
places = [confluent_kafka.TopicPartition("orders", 0)]


def outcome(**options):
    try:
        return type(admin.elect_leaders(confluent_kafka.ElectionType.PREFERRED, places, **options)).__name__
    except Exception as error:
        return type(error).__name__


seen = [outcome(), outcome(request_timeout=5.0), outcome(operation_timeout=5.0)]
seen.append(outcome(request_timeout=5.0, operation_timeout=5.0))
print(confluent_kafka.__version__, *seen)
sys.exit(seen != ["Future", "SystemError", "SystemError", "TypeError"])
PYTHON
for version in 2.6.1 2.16.1; do
  python3 -m venv "$work/$version"
  "$work/$version/bin/pip" install --quiet --disable-pip-version-check "confluent-kafka==$version"
  "$work/$version/bin/python" "$work/elect.py" 2>/dev/null
done
