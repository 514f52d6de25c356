"""Subscriptions that differ: of the members of a group among each other, and of its last members from its commits.

During a rolling deploy the members of a group may subscribe to different topics. A topic that the members did not
subscribe to when the group last had members is one that the group has left.
"""

import numpy as np

from stream.health.columns import NOT_KNOWN, Flags
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import GroupStage, HealthInputs


def advance(memory: Memory, inputs: HealthInputs) -> Changes:
    """Return the columns of subscriptions after a tick.

    Members that subscribe to a topic and a later commit of the group end the time for which the group has left it.
    """
    groups = inputs.groups
    is_split = np.zeros(len(groups.names), np.bool_)
    is_split[list(inputs.subscribers)] = True
    split_since = np.where(memory.split_since >= 0, memory.split_since, inputs.now)
    changes = {"split_since": np.where(is_split[inputs.group], split_since, NOT_KNOWN)}
    if inputs.subscribed is None:
        return changes
    is_stable = (groups.stage[inputs.group] == GroupStage.STABLE) & (groups.members[inputs.group] > 0)
    is_left = is_stable & (inputs.subscribed == 0)
    is_back = (inputs.subscribed == 1) | (~is_left & (inputs.spans.last_time > memory.unsubscribed_until))
    since = np.where(is_left & (memory.unsubscribed_since < 0), inputs.now, memory.unsubscribed_since)
    until = np.where(is_left, inputs.now, memory.unsubscribed_until)
    return changes | {
        "unsubscribed_since": np.where(is_back, NOT_KNOWN, since),
        "unsubscribed_until": np.where(is_back, NOT_KNOWN, until),
    }


def left_rows(memory: Memory, inputs: HealthInputs, settled: int) -> Flags:
    """Return the rows of groups without members that have left the topic for at least `settled` ms before."""
    lasted = (memory.unsubscribed_since >= 0) & (memory.unsubscribed_until - memory.unsubscribed_since >= settled)
    left: Flags = lasted & (inputs.groups.stage[inputs.group] == GroupStage.EMPTY)
    return left
