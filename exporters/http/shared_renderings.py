"""Renders responses on few threads, and shares one rendering between concurrent requests for the same.

Rendering is CPU-bound: more threads do not make it faster, and each leaves its own heap behind. Results are kept only
for a moment, so a flood of requests does not occupy memory afterwards.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

THREADS: Final = 4
"""Concurrent renderings; others wait."""
KEPT_SECONDS: Final = 1.0
"""How long a finished rendering is reused. Ages in it are at most this much too low."""
_MOST_KEPT: Final = 16

_T = TypeVar("_T")


class SharedRenderings(Generic[_T]):
    """The renderings that are running or finished a moment ago, by key. Used on one event loop."""

    def __init__(self, threads: int = THREADS, kept_seconds: float = KEPT_SECONDS) -> None:
        self._threads = asyncio.Semaphore(threads)
        self._kept_seconds = kept_seconds
        self._running: dict[Hashable, asyncio.Future[_T]] = {}
        self._finished: dict[Hashable, tuple[float, _T]] = {}

    async def get(self, key: Hashable, render: Callable[[], _T]) -> _T:
        """Return the result of `render`, called on a worker thread, or that of a moment ago for the same key."""
        finished = self._finished.get(key)
        if finished is not None and time.monotonic() - finished[0] <= self._kept_seconds:
            return finished[1]
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.ensure_future(self._render(key, render))
        # Shielded: the first client may disconnect while others wait for the same rendering.
        return await asyncio.shield(running)

    async def _render(self, key: Hashable, render: Callable[[], _T]) -> _T:
        try:
            async with self._threads:
                result = await run_in_threadpool(render)
        finally:
            del self._running[key]
        self._keep(key, result)
        return result

    def _keep(self, key: Hashable, result: _T) -> None:
        """Keep a result for a moment; at most `_MOST_KEPT` at once."""
        entry = (time.monotonic(), result)
        self._finished.pop(key, None)
        while len(self._finished) >= _MOST_KEPT:
            del self._finished[next(iter(self._finished))]
        self._finished[key] = entry
        asyncio.get_running_loop().call_later(self._kept_seconds, self._expire, key, entry)

    def _expire(self, key: Hashable, entry: tuple[float, _T]) -> None:
        if self._finished.get(key) is entry:
            del self._finished[key]
