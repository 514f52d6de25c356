"""The output of Kafka's dump tool (`kafka-dump-log`) for segments.

The readers of these files are in `decoders.log`.
"""
