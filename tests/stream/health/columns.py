"""Columns of numbers as the modules of `stream.health` take them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream.health.columns import Ints
from stream.health.inputs import GroupInputs, GroupStage


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def group_inputs(names: Sequence[str], **columns: Sequence[Any]) -> GroupInputs:
    """Return groups with these columns. All else is unknown (-1) of stable groups that are no share groups."""
    kinds: dict[str, Any] = {"stage": np.int8, "static": np.bool_, "share": np.bool_}
    usual = {"stage": GroupStage.STABLE, "static": False, "share": False}
    fields = [field.name for field in dataclasses.fields(GroupInputs) if field.name != "names"]
    rows = {name: columns.get(name, [usual.get(name, -1)] * len(names)) for name in fields}
    return GroupInputs(names=names, **{name: np.array(rows[name], kinds.get(name, np.int64)) for name in fields})
