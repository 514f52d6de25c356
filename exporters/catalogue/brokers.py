"""The tables about brokers, the controller, settings, and sizes on disk, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import (
    BOOL,
    BROKER,
    EXPERIMENTAL,
    FLOAT,
    INT32,
    INT64,
    LEAN,
    NAME,
    STANDARD,
    TIMESTAMP,
    TOPIC,
    Column,
    Exported,
    Table,
)

_AWAY: Final = "the broker is not in the cluster's metadata"
_NO_SIZES: Final = "unknown: needs Describe on the cluster; or the cluster has more than 30,000 replicas"

BROKERS: Final = Table(
    Source("brokers", POLL),
    (BROKER,),
    (
        Column("host", NAME, "Its advertised host.", Exported("lagwarden_broker_info", STANDARD,
               "A live broker with its advertised address.", _AWAY, ("host", "port", "rack"))),
        Column("port", INT32, "Its advertised port."),
        Column("rack", NAME, "Its rack.", null="it has none"),
        # Of the topics that may be described.
        Column("leads", INT32, "Partitions that the broker leads.",
               Exported("lagwarden_broker_leaders", STANDARD, absent=_AWAY)),
        Column("holds", INT32, "Replicas of the broker.", Exported("lagwarden_broker_replicas", absent=_AWAY)),
    ),
)  # fmt: skip
"""One row per live broker."""

CONTROLLERS: Final = Table(
    Source("controllers", POLL),
    (BROKER,),
    (Column("active", BOOL, "1 for the active controller.",
            Exported("lagwarden_controller", STANDARD),
            null="unknown (needs Describe on the cluster), or none is elected"),),
)  # fmt: skip
"""One row for the active controller; no row if unknown."""

CONFIGS: Final = Table(
    Source("configs_shown", POLL),
    (
        Column("scope", NAME, "What has the setting: broker or topic."),
        Column("name", NAME, "The id of the broker or the name of the topic."),
        Column("key", NAME, "The name of the setting."),
    ),
    (
        Column("value", NAME, "Its value.", Exported("lagwarden_config_info", help=
               "A setting of a broker or a topic that groups read (cluster.topic_settings).",
               absent="unknown (needs DescribeConfigs), or Kafka does not have it",
               also=("value", "source")), null="unknown, with its reason", stability=EXPERIMENTAL),
        Column("source", NAME, "Its source, as Kafka names it (ConfigEntry.ConfigSource), in lower case."),
        Column("unknown_reason", NAME, "Why the value is unknown.", null="it is known"),
    ),
)  # fmt: skip
"""One row per requested configuration. Those that a broker does not know (another version of Kafka) are left out."""

BROKER_DISKS: Final = Table(
    Source("broker_disks", POLL),
    (BROKER,),
    (
        Column("bytes", INT64, "Size of all replicas, without indexes (kafka-log-dirs).",
               Exported("lagwarden_broker_bytes", STANDARD,
                        absent=f"{_NO_SIZES}; or a log directory of the broker is offline"), null=None),
        Column("left_replicas", INT32,
               "Replicas deleted or moved while the broker was away: their files stay, as -stray folders.",
               Exported("lagwarden_broker_left_replicas_total", absent=f"{_NO_SIZES}; or"
               " the broker is away, or a log directory of it is offline"), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per broker that reported all of its log directories; none if the cluster has too many replicas to ask."""

TOPIC_SIZES: Final = Table(
    Source("topic_sizes", POLL),
    (TOPIC,),
    (Column("bytes", INT64, "Size of all replicas, without indexes (kafka-log-dirs).",
            Exported("lagwarden_topic_bytes"), null=f"{_NO_SIZES}; or a broker with a replica of the topic did not"
            " answer, or has an offline log directory"),),
)  # fmt: skip
"""One row per topic; none if a broker with a replica did not report it."""

OFFSETS_REPLICAS: Final = Table(
    Source("offsets_replicas", POLL),
    (BROKER,),
    (
        Column("bytes", INT64, "Size of all replicas of __consumer_offsets.",
               Exported("lagwarden_offsets_topic_bytes", STANDARD),
               null="needs Describe on the cluster, and all log directories online"),
        # In bytes per second; negative while the log cleaner shrinks the topic.
        Column("growth", FLOAT, "Growth of __consumer_offsets over the last hour; usually around 0.",
               Exported("lagwarden_offsets_topic_growth_bytes_per_second", STANDARD),
               null="fewer than two polls", stability=EXPERIMENTAL),
        Column("unknown_reason", NAME, "Why the size is unknown.", null="it is known"),
    ),
)  # fmt: skip
"""One row per broker that has replicas of `__consumer_offsets`, or whose log directories are unknown."""

POLLS: Final = Table(
    Source("polls", POLL),
    (),
    (
        Column("cleaner_suspect", BOOL,
               "1 if __consumer_offsets is larger than a working log cleaner leaves it, else 0.",
               Exported("lagwarden_offsets_topic_cleaner_suspect", LEAN), null="no ACL for its size or settings",
               stability=EXPERIMENTAL),
        Column("poll_time", TIMESTAMP, "When the poll began whose results are served.",
               Exported("lagwarden_cluster_facts_timestamp_seconds", LEAN),
               null="after three failed polls, with cluster.interval 0, or not the first instance"),
        Column("poll_seconds", FLOAT, "Duration of that poll.",
               Exported("lagwarden_cluster_facts_duration_seconds", STANDARD),
               null="as lagwarden_cluster_facts_timestamp_seconds"),
    ),
)  # fmt: skip
"""One row: the poll itself."""

UNKNOWN_FACTS: Final = Table(
    Source("unknown_facts", POLL),
    (
        Column("fact", NAME, "What is unknown: controller, topic, offsets topic size, …"),
        Column("reason", NAME, "Why."),
    ),
    (Column("amount", INT32, "Facts that the poll did not get.",
            Exported("lagwarden_cluster_facts_unknown", STANDARD, absent="there is none"),
            null=None, stability=EXPERIMENTAL),),
)  # fmt: skip
"""Number of requested facts that are unknown, by fact and reason."""

BROKER_METRICS: Final = BROKERS.metrics + CONTROLLERS.metrics + CONFIGS.metrics
DISK_METRICS: Final = BROKER_DISKS.metrics + TOPIC_SIZES.metrics
POLL_METRICS: Final = OFFSETS_REPLICAS.metrics + POLLS.metrics + UNKNOWN_FACTS.metrics
