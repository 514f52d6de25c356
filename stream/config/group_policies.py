"""The owners, maintenance windows and silences of groups, from the options of the section `groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream.config.ownership import GroupPolicies

if TYPE_CHECKING:
    from stream.config.options import GroupsOptions


def policies_from_options(groups: GroupsOptions) -> GroupPolicies:
    """Return the configured policies."""
    owners: list[tuple[str, dict[str, Any]]] = [
        (entry.groups, entry.model_dump(exclude={"groups"})) for entry in groups.owners
    ]
    return GroupPolicies(
        tuple(owners),
        tuple((entry.groups, entry.window) for entry in groups.maintenance),
        tuple((entry.groups, entry.silence) for entry in groups.silences),
    )
