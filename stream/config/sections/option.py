"""An option as a field of its section."""

import functools
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue


def option(
    default: Any, help_text: str, *, unit: str = "", shown: str | None = None, experimental: bool = False, **limits: Any
) -> Any:
    """Return the field of an option.

    `default` may be a function that returns it. `shown` is how the documentation writes the default; None: the value
    itself. An `experimental` option may change in any release, others keep their promise (docs/upgrading.md).
    """
    extra: dict[str, JsonValue] = {"unit": unit, "shown": shown, "experimental": experimental}
    limits["default_factory" if callable(default) else "default"] = default
    return Field(description=help_text, json_schema_extra=extra, **limits)


experimental: Final = functools.partial(option, experimental=True)


def seconds(
    default: float | None, help_text: str, *, least: float | None = None, most: float | None = 86_400, **more: Any
) -> Any:
    """Return the field of an option in seconds: from `least`, or above 0 if that is None; `more` as in `option`."""
    limits: dict[str, Any] = {"gt": 0} if least is None else {"ge": least}
    if most is not None:
        limits["le"] = most
    return option(default, help_text, unit="seconds", **limits, **more)


class OptionSection(BaseModel):
    """A section of options. Frozen; unknown names are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def contradictions(self) -> list[tuple[str, str]]:
        """Return (option, problem) for values that are valid one by one but contradict each other."""
        return []
