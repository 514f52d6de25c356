"""The declared types of the JSON responses against the read model and the responses themselves."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any

import pytest

from exporters import readmodel
from exporters.api_types import cluster as cluster_types
from exporters.api_types import groups as group_types
from exporters.api_types import monitor as monitor_types
from exporters.api_types.stability import EXPERIMENTAL
from exporters.catalogue.metric import MetricSource, Stability
from exporters.catalogue.metrics import METRICS
from exporters.cluster import model
from exporters.cluster.exposition import PublishedCluster
from exporters.http.api import group_json, groups_json, readiness_json, topic_groups_json
from exporters.http.cluster_api import cluster_json, topic_json
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import detail, small_snapshot, status


def fields(declared: Any) -> list[str]:
    """Return the fields of a TypedDict in their order."""
    return list(declared.__annotations__)


@pytest.mark.parametrize(
    ("declared", "schema", "left_out"),
    [
        pytest.param(group_types.GroupRow, readmodel.GROUPS, set(), id="groups"),
        pytest.param(group_types.PartitionRow, readmodel.PARTITIONS, {"group"}, id="partitions"),
        pytest.param(group_types.TopicRow, readmodel.TOPICS, {"group"}, id="topics"),
        pytest.param(group_types.UnknownLagRow, readmodel.UNKNOWN_LAGS, set(), id="unknown lags"),
        pytest.param(group_types.CommonCauseRow, readmodel.COMMON_CAUSES, set(), id="common causes"),
        pytest.param(cluster_types.ConfigRow, model.CONFIGS, {"scope", "name"}, id="configs"),
        pytest.param(cluster_types.BrokerRow, model.BROKERS, set(), id="brokers"),
        pytest.param(cluster_types.OffsetsReplicaRow, model.OFFSETS_REPLICAS, set(), id="offsets replicas"),
        pytest.param(cluster_types.QuorumReplicaRow, model.QUORUM_REPLICAS, set(), id="quorum replicas"),
        pytest.param(cluster_types.ReassignmentRow, model.REASSIGNMENTS, set(), id="reassignments"),
        pytest.param(cluster_types.QuotaRow, model.QUOTAS, set(), id="quotas"),
        pytest.param(cluster_types.BrokerDiskRow, model.BROKER_DISKS, set(), id="broker disks"),
        pytest.param(cluster_types.FollowerRow, model.FOLLOWERS, {"topic"}, id="followers"),
        pytest.param(cluster_types.FeatureRow, model.FEATURES, set(), id="features"),
        pytest.param(cluster_types.BrokerFeatureRow, model.BROKER_FEATURES, set(), id="broker features"),
        pytest.param(cluster_types.UnknownFactRow, model.UNKNOWN_FACTS, set(), id="unknown facts"),
        pytest.param(cluster_types.ClusterTopicRow, model.CLUSTER_TOPICS, set(), id="cluster topics"),
        pytest.param(cluster_types.TopicPartitionRow, model.TOPIC_PARTITIONS, {"topic"}, id="topic partitions"),
    ],
)
def test_a_row_has_the_columns_of_its_table(declared: Any, schema: Any, left_out: set[str]) -> None:
    """A column that is added to the read model must be declared for the API."""
    assert fields(declared) == [name for name in schema.names if name not in left_out]


@pytest.mark.parametrize(
    ("declared", "source"),
    [
        (group_types.MemberObject, readmodel.MemberDetail),
        (group_types.TransitionObject, readmodel.TransitionDetail),
        (group_types.FindingObject, readmodel.FindingDetail),
        (group_types.VerdictChangeObject, readmodel.VerdictChange),
        (group_types.MemberQuotaObject, readmodel.QuotaDetail),
    ],
    ids=["member", "transition", "finding", "verdict change", "quota"],
)
def test_an_object_has_the_fields_of_its_dataclass(declared: Any, source: Any) -> None:
    """A field that is added to the read model must be declared for the API."""
    assert fields(declared) == [field.name for field in dataclasses.fields(source)]


@pytest.mark.parametrize(
    ("declared", "source"),
    [
        (group_types.GroupRow, MetricSource.GROUPS),
        (group_types.PartitionRow, MetricSource.PARTITIONS),
        (group_types.TopicRow, MetricSource.TOPICS),
    ],
    ids=["groups", "partitions", "topics"],
)
def test_a_field_is_as_stable_as_its_metric(declared: Any, source: MetricSource) -> None:
    """A field whose metrics are all experimental is experimental; one with a stable metric is stable."""
    hints = typing.get_type_hints(declared, include_extras=True)
    marked = {name for name, hint in hints.items() if EXPERIMENTAL in getattr(hint, "__metadata__", ())}
    metrics = [metric for metric in METRICS if metric.source is source and metric.column in hints]
    stable = {metric.column for metric in metrics if metric.stability is Stability.STABLE}
    assert marked & stable == set()
    assert {metric.column for metric in metrics} - stable <= marked


def test_a_response_has_the_declared_fields() -> None:
    """A response has exactly the declared fields."""
    published, cluster = PublishedSnapshot.build(small_snapshot()), PublishedCluster.build(facts())
    responses = {
        group_types.GroupsResponse: groups_json(published, status=status(instances=2, cluster_name="eu")),
        group_types.GroupResponse: group_json(published.snapshot, "billing", detail()),
        group_types.TopicGroupsResponse: topic_groups_json(published.snapshot, "orders"),
        monitor_types.ReadinessResponse: readiness_json(status()),
        cluster_types.ClusterResponse: cluster_json(cluster)[0],
        cluster_types.TopicResponse: topic_json(cluster, "orders")[0],
    }
    for declared, body in responses.items():
        assert body is not None
        assert set(json.loads(body)) == set(fields(declared)), declared
    topic_group = json.loads(responses[group_types.TopicGroupsResponse] or b"")["groups"][0]
    assert set(topic_group) == set(fields(group_types.TopicGroupRow))
    group = json.loads(responses[group_types.GroupResponse] or b"")
    assert set(group["findings"][0]) == set(fields(group_types.PartitionFindingObject))
    assert set(group["by_member"][0]) == set(fields(group_types.MemberObject))
    broker = json.loads(responses[cluster_types.ClusterResponse] or b"")["brokers"][0]
    assert set(broker) == set(fields(cluster_types.BrokerObject))
