"""The metrics of brokers, the controller and settings, rendered once per poll.

`exporters.catalogue.cluster` joins them.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

_BROKER: Final = ("broker",)

BROKER_METRICS: Final = (
    Metric(
        "lagwarden_broker_info",
        MetricKind.INFO,
        "A live broker with its advertised address.",
        MetricSource.BROKERS,
        "host",
        ("broker", "host", "port", "rack"),
        conversion=ValueConversion.ONE,
        absent="the broker is not in the cluster's metadata",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_broker_leaders",
        MetricKind.GAUGE,
        "Partitions that the broker leads.",
        MetricSource.BROKERS,
        "leads",
        _BROKER,
        absent="the broker is not in the cluster's metadata",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_broker_replicas",
        MetricKind.GAUGE,
        "Replicas assigned to the broker, in sync or not.",
        MetricSource.BROKERS,
        "holds",
        _BROKER,
        absent="the broker is not in the cluster's metadata",
    ),
    Metric(
        "lagwarden_controller",
        MetricKind.GAUGE,
        "1 for the active controller, which with KRaft need not be a broker.",
        MetricSource.CONTROLLERS,
        "active",
        _BROKER,
        absent="unknown (needs Describe on the cluster), or no controller is elected at the moment",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_config_info",
        MetricKind.INFO,
        "An effective setting of a broker, of __consumer_offsets or of a topic that groups read"
        " (cluster.topic_settings), and its source.",
        MetricSource.CONFIGS_SHOWN,
        "value",
        ("scope", "name", "key", "value", "source"),
        conversion=ValueConversion.ONE,
        absent="unknown (needs DescribeConfigs), or this version of Kafka has no such setting",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of brokers, controller and settings."""
