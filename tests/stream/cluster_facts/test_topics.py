"""The topics and partitions of the topology, compared with CMAK's formulas computed per partition."""

import math
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.topics import CLUSTER_TOPICS
from stream.cluster.configs import TopicConfig
from stream.cluster_facts.topics import MIN_ISR, topics_table
from tests.support.hypothesis_profiles import examples
from tests.support.topologies import Partition, layout


def by_hand(name: str, partitions: list[Partition], brokers: int) -> dict[str, Any]:
    """Return a topic's facts as CMAK does, with exact fractions."""
    count, factor = len(partitions), len(partitions[0][1])
    hosted = [node for _, _, isr in partitions for node in isr]
    led = [leader for leader, _, _ in partitions]
    hosts = len(set(hosted))
    share, lead = (math.ceil(Fraction(count * times, hosts or 1)) for times in (factor, 1))
    under = sum(len(isr) != len(replicas) for _, replicas, isr in partitions)
    preferred = sum(leader == replicas[0] for leader, replicas, _ in partitions)
    skewed = sum(hosted.count(node) > share for node in set(hosted))
    leading = sum(led.count(node) > lead for node in set(hosted))
    return {
        "topic": name,
        "partitions": count,
        "replication_factor": factor,
        "under_replicated": under,
        "under_replicated_ratio": 100 * under // count / 100,
        "at_min_isr": None,
        "under_min_isr": None,
        "leaderless": led.count(None),
        "preferred_leaders_ratio": 100 * preferred // count / 100,
        "brokers_skewed_ratio": 100 * skewed // (hosts or 1) / 100,
        "brokers_spread_ratio": 100 * hosts // brokers / 100,
        "leaders_skewed_ratio": 100 * leading // (hosts or 1) / 100,
    }


BROKERS = st.permutations(range(5))


@st.composite
def partition(draw: st.DrawFn) -> Partition:
    """Generate a partition with some in-sync replicas, of which one or none leads."""
    replicas = draw(BROKERS)[: draw(st.integers(1, 4))]
    in_sync = draw(st.lists(st.sampled_from(replicas), unique=True))
    leader = draw(st.sampled_from([None, *in_sync]))
    return leader, replicas, in_sync


LAYOUTS = st.dictionaries(st.sampled_from(["a", "b", "c-d"]), st.lists(partition(), min_size=1, max_size=12))


@examples(60)
@given(LAYOUTS, st.integers(5, 9))
def test_topic_facts_match_the_formulas(topics: dict[str, list[Partition]], brokers: int) -> None:
    """The vectorised result equals the result per topic."""
    found = topics_table(layout(topics, brokers), {})
    assert found.schema == CLUSTER_TOPICS.schema
    assert found.to_pylist() == [by_hand(name, rows, brokers) for name, rows in sorted(topics.items())]


def test_replicas_in_sync_against_the_minimum() -> None:
    """At the minimum, the loss of one more replica ends writes with acks=all; under it, such writes already fail.

    Brokers apply at most the number of replicas. A partition without a leader is under the minimum.
    """
    full = [0, 1, 2]
    rows: list[Partition] = [(0, full, full), (0, full, [0, 1]), (0, full, [0]), (0, [0], [0]), (None, [3], [3])]
    for min_isr, counts in {1: (2, 1), 2: (2, 2), 3: (2, 3), 5: (2, 3)}.items():
        settings = {"t": {MIN_ISR: TopicConfig(MIN_ISR, str(min_isr))}}
        known, unknown = topics_table(layout({"t": rows, "u": rows}, 4), settings).to_pylist()
        assert (min_isr, (known["at_min_isr"], known["under_min_isr"])) == (min_isr, counts)
        assert (unknown["at_min_isr"], unknown["under_min_isr"]) == (None, None)
