"""The actions of verdict scenarios: calls of the methods of a group, each a value that is performed later."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Final, ParamSpec

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
