"""A verdict scenario as data: what happens to one group, and the verdicts it must get from which time on.

Times are seconds of the run; 0 is when traffic begins. The actions are in `actions`, their execution in `group_runner`
and `runner`, the scenarios themselves in `sick`, `healthy` and `outages`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Final, Literal, ParamSpec

from sandbox.clients.traffic import ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios.group import VerdictGroup

Values = ParamSpec("Values")
INCOMPLETE_ASSIGNOR: Final = "JavaClients$IncompleteAssignor"
"""A faulty assignor: the last partition of the last topic is assigned to no member."""


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioAction:
    """One change of a group. When `perform` returns, it has happened."""

    method: Callable[..., None]
    values: tuple[Any, ...]
    named: Mapping[str, Any]

    def perform(self, group: VerdictGroup) -> None:
        """Perform the action."""
        self.method(group, *self.values, **self.named)

    def __str__(self) -> str:
        """Return the name of the method with its values."""
        return " ".join(map(str, (self.method.__name__, *self.values, *self.named.items())))


def _action(method: Callable[Concatenate[VerdictGroup, Values], None]) -> Callable[Values, ScenarioAction]:
    def later(*values: Values.args, **named: Values.kwargs) -> ScenarioAction:
        return ScenarioAction(method, values, named)

    return later


start_consumer: Final = _action(VerdictGroup.start_consumer)
start_simple_consumer: Final = _action(VerdictGroup.start_simple_consumer)
start_transactional_consumer: Final = _action(VerdictGroup.start_transactional_consumer)
start_java_consumer: Final = _action(VerdictGroup.start_java_consumer)
close_clients: Final = _action(VerdictGroup.close_clients)
kill_client: Final = _action(VerdictGroup.kill_client)
change_behaviour: Final = _action(VerdictGroup.change_behaviour)
seek_back: Final = _action(VerdictGroup.seek_back)
seek_to_end: Final = _action(VerdictGroup.seek_to_end)
subscribe_to: Final = _action(VerdictGroup.subscribe_to)
hang_in_commit: Final = _action(VerdictGroup.hang_in_commit)
keep_transaction_open: Final = _action(VerdictGroup.keep_transaction_open)
add_partitions: Final = _action(VerdictGroup.add_partitions)
delete_input_topic: Final = _action(VerdictGroup.delete_input_topic)
delete_records: Final = _action(VerdictGroup.delete_records)
delete_read_records: Final = _action(VerdictGroup.delete_read_records)
delete_group: Final = _action(VerdictGroup.delete_group)
reset_offsets: Final = _action(VerdictGroup.reset_offsets)


ScenarioKind = Literal["sick", "healthy"]
EVENT: Final = 60.0
"""The time of most faults: by then every group has shown its normal behaviour for ten slots."""
END: Final = 250.0
"""The run lasts longer when the monitor takes longer to restart."""
ORDINARY: Final = ClientBehaviour()
ONE: Final = {"in": ScenarioTopic()}
FINE: Final = ("ok", "caught_up", "recovering", "reset")
"""Verdicts that need no action of an operator."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimedStep:
    """Actions at a time of the run. With a `mark` the time at which they were performed is recorded by that name."""

    time: float
    actions: tuple[ScenarioAction, ...]
    mark: str | None = None


def step(time: float, *actions: ScenarioAction, mark: str | None = None) -> TimedStep:
    """Return actions at a time of the run."""
    return TimedStep(time, actions, mark)


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedVerdict:
    """One of these verdicts must be shown from `after` seconds after a mark.

    That is the time from which it can be known from every commit and the end offsets at every tick (`pace`).
    """

    verdicts: tuple[str, ...]
    after: float
    mark: str = "fault"
    sentence_contains: str = ""
    """A text that its sentence must contain."""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictScenario:
    """The events and expected verdicts of one group. A healthy one has no `expected`: any alarm is a false one."""

    name: str
    description: str
    topics: Mapping[str, ScenarioTopic] = dataclasses.field(default_factory=lambda: ONE)
    start: tuple[ScenarioAction, ...] = (start_consumer(),)
    """The actions when traffic begins."""
    behaviour: ClientBehaviour = ORDINARY
    script: tuple[TimedStep, ...] = ()
    expected: tuple[ExpectedVerdict, ...] = ()
    true_as_well: tuple[str, ...] = ()
    """Other sick verdicts that are true of it: no false alarms, though not the expected cause."""
    judged_from: float = 0.0
    """Before this time the normal behaviour of the group cannot be known (a batch, before its second run)."""
    judged_until: float = 10_000.0
    client_error: str | None = None
    """The error of Kafka that its script may cause in its own clients; any other is a failure of the run."""
    reserved: bool = False
    """It must be in the offsets partition that is reserved for groups whose transactions hide later commits."""

    @property
    def kind(self) -> ScenarioKind:
        """`sick` if a verdict is expected: it has a fault."""
        return "sick" if self.expected else "healthy"

    @property
    def causes(self) -> tuple[str, ...]:
        """The verdicts that name its cause exactly: the last expected ones, except those in FINE."""
        sick = [each for each in self.expected if not set(each.verdicts) & set(FINE)]
        return sick[-1].verdicts if sick else ()
