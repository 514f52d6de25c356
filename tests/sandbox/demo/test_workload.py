"""The table of the demo covers every behaviour."""

from sandbox.demo.groups import DEMO_GROUPS, TOPICS, Behaviour, demo_group
from sandbox.demo.workload import GROUP_CLASSES


def test_every_behaviour_has_a_group_and_every_group_a_topic() -> None:
    """The table covers all behaviours and kinds, with one name per group and topics that exist.

    A group is Empty exactly if it has no members, and is found by its name.
    """
    assert {row.behaviour for row in DEMO_GROUPS} == set(Behaviour)
    assert {row.kind for row in DEMO_GROUPS} == {"classic", "consumer", "simple"}
    assert len({row.name for row in DEMO_GROUPS}) == len(DEMO_GROUPS) >= 9
    assert {row.topic for row in DEMO_GROUPS} <= {topic.name for topic in TOPICS}
    assert set(Behaviour) == {*GROUP_CLASSES, Behaviour.TRANSACTIONAL, Behaviour.UNMANAGED}
    assert [row for row in DEMO_GROUPS if (row.state == "Empty") != (row.members == 0)] == []
    assert [row for row in DEMO_GROUPS if demo_group(row.name) is not row] == []
