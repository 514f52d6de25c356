"""The argument GROUP, and the words with which a shell completes it and the values of filters.

A shell shows no errors here: without an instance there is nothing to complete.
"""

# ruff: noqa: PLC0415 -- as in `stream.cli.app`

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final

import typer

from stream.cli.options import instance_url
from stream.errors import Refusal


def complete_words(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of the values of an option."""

    def complete(incomplete: str) -> list[str]:
        return [str(word) for word in words if word.startswith(incomplete)]

    return complete


def complete_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the groups of the instance that the command would ask. Names that a shell would split are left out."""
    from exporters.group_query import GroupQuery
    from stream.cli.api_client import InstanceClient

    try:
        client = InstanceClient(instance_url(ctx.params.get("url"), ctx.params.get("config")))
        names = [group["group"] for group in client.groups(GroupQuery(filter=incomplete or None))["groups"]]
    except Refusal:
        return []
    return [name for name in names if name.startswith(incomplete) and name.isprintable() and " " not in name]


GROUP: Final[Any] = typer.Argument(
    metavar="GROUP", help="The group; after `--` if it begins with a dash.", autocompletion=complete_groups
)
GroupName = Annotated[str, GROUP]
