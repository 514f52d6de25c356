"""The questions of an agent, answered by a real HTTP server."""

import contextlib
from collections.abc import Iterator

import pytest

from exporters.readmodel import Snapshot
from stream.cli.agents.questions import AgentQuestions
from stream.cli.api_client import InstanceClient
from stream.errors import ExitCode, Refusal
from tests.exporters.serving import serving_url
from tests.exporters.snapshots import COMMON_CAUSE, snapshot


@contextlib.contextmanager
def served(shown: Snapshot) -> Iterator[AgentQuestions]:
    """Serve a snapshot; yields the questions about it."""
    with serving_url(shown) as address:
        yield AgentQuestions(lambda: InstanceClient(address, environment={}))


@pytest.fixture(scope="module")
def questions(url: str) -> AgentQuestions:
    return AgentQuestions(lambda: InstanceClient(url, environment={}))


def test_unhealthy_groups_have_their_verdicts_and_no_details(questions: AgentQuestions) -> None:
    """Sick groups have verdict and sentence and no details. They are filtered by name, owner and severity.

    The worst is the first. A group without a verdict is the last.
    """
    answer = questions.unhealthy_groups()
    assert [group["group"] for group in answer["groups"]] == ["billing"]
    assert answer["groups"][0]["verdict"] == "stopped"
    assert answer["groups"][0]["sentence"] == "orders-0 has had no commit for 30 s: 1 offset unread."
    assert "by_partition" not in answer["groups"][0]
    assert questions.unhealthy_groups(name_part="no such")["total"] == 0
    assert questions.unhealthy_groups(owner="no such team")["groups"] == []
    every = questions.unhealthy_groups(severities=["critical", "warning", "notice", "unknown", "fine"])
    assert [group["group"] for group in every["groups"]] == ["billing", "plain", 'say "hi"\\\nthere', "gone"]
    assert every["total"] == 4


def test_the_groups_of_a_common_cause_are_bounded() -> None:
    """A cause has its first groups and their total number. Its other fields are as in the API."""
    names = [f"g{at:03}" for at in range(250)]
    many = snapshot(groups=[{"group": name} for name in names], common_causes=[{**COMMON_CAUSE, "groups": names}])
    with served(many) as questions:
        (cause,) = questions.unhealthy_groups()["common_causes"]
        assert cause["groups"] == {"total": 250, "first": names[:20]}
        assert cause["sentence"] == COMMON_CAUSE["sentence"]


def test_a_group_has_an_explanation_and_a_history(questions: AgentQuestions) -> None:
    """The answer has the finding with its evidence, partitions and topics, and the changes of verdict and state.

    Unknown verdicts are null.
    """
    answer = questions.explain_group("billing")
    assert answer["verdict"] == "stopped"
    assert answer["finding"]["next_step"]
    assert answer["finding"]["evidence"]
    assert answer["findings"]["total"] == len(answer["findings"]["first"]) > 0
    assert answer["topics"]["first"][0]["topic"]
    assert answer["quotas"] is None
    answer = questions.verdict_history("billing")
    assert answer["verdicts"]["latest"][-1]["verdict"]
    assert answer["transitions"]["total"] > 0
    assert questions.verdict_history("plain")["verdicts"] is None
    (row,) = questions.groups_of_topic("orders")["groups"]
    assert (row["group"], row["lag_sum"]) == ("billing", 2**62)


def test_unknown_names_are_refused(questions: AgentQuestions) -> None:
    """The error has the nearest names of groups, or the nearest valid value."""
    with pytest.raises(Refusal, match="did you mean billing"):
        questions.explain_group("biling")
    with pytest.raises(Refusal, match="no group reads a topic named nothing"):
        questions.groups_of_topic("nothing")
    with pytest.raises(Refusal, match="did you mean critical") as refused:
        questions.unhealthy_groups(severities=["critcal"])
    assert refused.value.code is ExitCode.USAGE
