"""The output of Kafka's dump tool (`kafka-dump-log`) for segments, indexes, state files and snapshots.

The readers of these files are in `decoders.log`.
"""
