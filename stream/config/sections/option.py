"""An option as a field of its section."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue


def option(
    default: Any,
    help_text: str,
    *,
    unit: str = "",
    shown: str | None = None,
    experimental: bool = False,
    **limits: Any,
) -> Any:
    """Return the field of an option.

    `shown` is how the documentation writes the default; None: the value itself. An `experimental` option may change in
    any release, others keep their promise (docs/upgrading.md).
    """
    extra: dict[str, JsonValue] = {"unit": unit, "shown": shown, "experimental": experimental}
    if callable(default):
        return Field(default_factory=default, description=help_text, json_schema_extra=extra, **limits)
    return Field(default=default, description=help_text, json_schema_extra=extra, **limits)


def seconds(default: float | None, help_text: str, *, least: float = 0, most: float | None = None, **more: Any) -> Any:
    """Return the field of an option in seconds: at least `least`, or above 0 if that is 0; `more` as in `option`."""
    limits: dict[str, Any] = {"ge": least} if least else {"gt": 0}
    if most is not None:
        limits["le"] = most
    return option(default, help_text, unit="seconds", **limits, **more)


class OptionSection(BaseModel):
    """A section of options. Frozen; unknown names are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def contradictions(self) -> list[tuple[str, str]]:
        """Return (option, problem) for values that are valid one by one but contradict each other."""
        return []
