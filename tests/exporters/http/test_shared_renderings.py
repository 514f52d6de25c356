"""Renderings: shared by those who ask for the same at that time, on few threads, and not kept."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from exporters.http.shared_renderings import SharedRenderings


def test_one_rendering_serves_all_who_ask_for_the_same() -> None:
    """Forty requests at once cause one rendering, and so does one that comes a moment after."""
    calls: list[int] = []

    def render() -> int:
        calls.append(1)
        time.sleep(0.05)
        return len(calls)

    async def crowd() -> set[int]:
        renderings = SharedRenderings[int](kept_seconds=60)
        found = set(await asyncio.gather(*(renderings.get("page", render) for _ in range(40))))
        return found | {await renderings.get("page", render)}

    assert asyncio.run(crowd()) == {1}


def test_another_key_is_another_rendering() -> None:
    """Who asks for something else gets that."""

    async def both() -> list[str]:
        renderings = SharedRenderings[str]()
        return list(await asyncio.gather(renderings.get(1, lambda: "a"), renderings.get(2, lambda: "b")))

    assert asyncio.run(both()) == ["a", "b"]


def test_few_threads_render() -> None:
    """However many different things are asked for at once, no more threads than allowed work on them."""
    running, most = 0, 0
    lock = threading.Lock()

    def render() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def crowd() -> None:
        renderings = SharedRenderings[None](threads=2)
        await asyncio.gather(*(renderings.get(key, render) for key in range(30)))

    before = set(threading.enumerate())
    asyncio.run(crowd())
    assert most == 2
    assert len(set(threading.enumerate()) - before) <= 2


def test_nothing_is_kept_for_long() -> None:
    """After its moment a result is forgotten without another request, and before it only few are kept."""

    async def flood() -> tuple[int, int]:
        renderings = SharedRenderings[int](kept_seconds=0.05)
        for key in range(100):
            await renderings.get(key, lambda: 1)
        kept = len(renderings._finished)
        while renderings._finished:  # noqa: ASYNC110 -- nothing tells that a timer has run
            await asyncio.sleep(0.01)
        return kept, len(renderings._running)

    kept, running = asyncio.run(flood())
    assert kept <= 16
    assert running == 0


def test_a_failure_is_not_kept() -> None:
    """Who asks again gets another try."""

    def fail() -> str:
        raise LookupError

    async def twice() -> str:
        renderings = SharedRenderings[str](kept_seconds=60)
        with pytest.raises(LookupError):
            await renderings.get("page", fail)
        return await renderings.get("page", lambda: "fine")

    assert asyncio.run(twice()) == "fine"


def test_a_client_that_leaves_takes_nothing_from_the_others() -> None:
    """Who asked first may go while the others wait for the same."""

    async def both() -> str:
        renderings = SharedRenderings[str]()
        first = asyncio.create_task(renderings.get("page", lambda: time.sleep(0.05) or "done"))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(renderings.get("page", lambda: "never"))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(both()) == "done"
