"""A cache of results for short arguments, so that the names and blobs that clients write decide no memory."""

import functools
from collections.abc import Callable, Sized
from typing import TypeVar

_Argument = TypeVar("_Argument", bound=Sized)
_Result = TypeVar("_Result")


def cache_short(
    entries: int, longest: int
) -> Callable[[Callable[[_Argument], _Result]], Callable[[_Argument], _Result]]:
    """Return a decorator that keeps the results of the last `entries` arguments of up to `longest` elements or bytes.

    Results of longer arguments are computed each time.
    """

    def decorate(function: Callable[[_Argument], _Result]) -> Callable[[_Argument], _Result]:
        cached = functools.lru_cache(entries)(function)

        @functools.wraps(function)
        def of_argument(argument: _Argument) -> _Result:
            return cached(argument) if len(argument) <= longest else function(argument)  # type: ignore[arg-type]

        return of_argument

    return decorate
