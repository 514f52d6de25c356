"""The mark of fields that may change in any release (docs/upgrading.md), in the types and in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

KEY: Final = "x-stability"
"""The extension of OpenAPI that says how stable an operation or field is; a field without it is as its operation."""
EXPERIMENTAL: Final[Any] = Field(json_schema_extra={KEY: "experimental"})
"""Marks a field: `Annotated[int, EXPERIMENTAL]`."""
