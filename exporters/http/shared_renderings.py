"""Answers that take work are rendered on few threads, and one rendering serves all who ask for the same at that time.

Rendering is bound by the processor: more threads than this do not make it faster, and each leaves a heap of its own
behind. What was rendered is kept for a moment only, so a flood of requests leaves no memory behind.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

THREADS: Final = 4
"""How many answers are rendered at once; others wait."""
KEPT_SECONDS: Final = 1.0
"""How long a finished rendering is given to others who ask for the same; ages in it are at most so much too young."""
_MOST_KEPT: Final = 16

_T = TypeVar("_T")


class SharedRenderings(Generic[_T]):
    """The renderings that run or ended a moment ago, by what was asked for. Used on one event loop."""

    def __init__(self, threads: int = THREADS, kept_seconds: float = KEPT_SECONDS) -> None:
        self._room = asyncio.Semaphore(threads)
        self._kept_seconds = kept_seconds
        self._running: dict[Hashable, asyncio.Future[_T]] = {}
        self._ended: dict[Hashable, tuple[float, _T]] = {}

    async def of(self, key: Hashable, render: Callable[[], _T]) -> _T:
        """Return what `render` gives, or gave for the same key a moment ago; it is called on a worker thread."""
        ended = self._ended.get(key)
        if ended is not None and time.monotonic() - ended[0] <= self._kept_seconds:
            return ended[1]
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.ensure_future(self._render(key, render))
        # Shielded: the client who asked first may leave while others wait for the same.
        return await asyncio.shield(running)

    async def _render(self, key: Hashable, render: Callable[[], _T]) -> _T:
        try:
            async with self._room:
                result = await run_in_threadpool(render)
        finally:
            del self._running[key]
        self._keep(key, result)
        return result

    def _keep(self, key: Hashable, result: _T) -> None:
        """Keep a result for a moment, together with few others."""
        entry = (time.monotonic(), result)
        self._ended.pop(key, None)
        while len(self._ended) >= _MOST_KEPT:
            del self._ended[next(iter(self._ended))]
        self._ended[key] = entry
        asyncio.get_running_loop().call_later(self._kept_seconds, self._forget, key, entry)

    def _forget(self, key: Hashable, entry: tuple[float, _T]) -> None:
        if self._ended.get(key) is entry:
            del self._ended[key]
