"""Results that are kept: of short arguments, so that what clients write decides no memory, and of unchanged ones."""

import functools
from collections.abc import Callable, Mapping, Sized
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Argument = TypeVar("_Argument", bound=Sized)
_Value = TypeVar("_Value")
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


_COMPARED: Final = (int, bytes, str, dict, frozenset)


def keep_last(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the function with its last result kept while its arguments stay the same objects.

    Numbers, texts, sets and mappings may also be equal ones, tuples have the same elements. The result is shared.
    """
    last: tuple[tuple[Any, ...], _Result] | None = None

    @functools.wraps(function)
    def of_arguments(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        nonlocal last
        given, kept = (*arguments, *named.values()), last
        if kept is None or not is_same(kept[0], given):
            last = kept = given, function(*arguments, **named)
        return kept[1]

    return of_arguments


def keep_each(
    function: Callable[Concatenate[_Value, _Arguments], _Result],
) -> Callable[Concatenate[Mapping[str, _Value], _Arguments], Mapping[str, _Result]]:
    """Return a function that applies this one to each value of a mapping.

    The result of a name is kept while its value stays the same object, and the further arguments are unchanged as in
    `keep_last`; all results are kept while the mapping stays the same object, too.
    """
    kept: dict[str, tuple[_Value, _Result]] = {}
    last: tuple[Any, ...] = ()
    source: Mapping[str, _Value] | None = None
    results: Mapping[str, _Result] = {}

    def of_each(
        values: Mapping[str, _Value], /, *further: _Arguments.args, **named: _Arguments.kwargs
    ) -> Mapping[str, _Result]:
        nonlocal kept, last, source, results
        previous, given = kept, (*further, *named.values())
        if not is_same(last, given):
            previous, last = {}, given
        elif values is source:
            return results
        kept = {}
        for name, value in values.items():
            found = previous.get(name)
            if found is None or found[0] is not value:
                found = value, function(value, *further, **named)
            kept[name] = found
        source, results = values, {name: result for name, (_, result) in kept.items()}
        return results

    return of_each


def is_same(one: Any, other: Any) -> bool:
    """Return whether an argument is unchanged, see `keep_last`."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one is other or (len(one) == len(other) and all(map(is_same, one, other)))
    return one is other or (isinstance(one, _COMPARED) and bool(one == other))
