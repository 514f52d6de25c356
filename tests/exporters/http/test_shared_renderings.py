"""Renderings are shared by concurrent requests, run on few threads, and are not kept."""

import asyncio
import threading
import time

import pytest

from exporters.http.rendered_responses import SharedRenderings


def test_concurrent_requests_share_one_rendering() -> None:
    """Forty concurrent requests, and one a moment later, cause one rendering; another key has its own."""
    calls: list[int] = []

    def render() -> int:
        calls.append(1)
        time.sleep(0.05)
        return len(calls)

    async def crowd() -> set[int]:
        renderings = SharedRenderings[int](kept_seconds=60)
        found = set(await asyncio.gather(*(renderings.get("page", render) for _ in range(40))))
        return found | {await renderings.get("page", render)} | {await renderings.get("other", lambda: 7)}

    assert asyncio.run(crowd()) == {1, 7}


def test_the_number_of_threads_is_limited() -> None:
    """Any number of concurrent keys is rendered on at most `threads` threads."""
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


def test_results_expire() -> None:
    """A result is removed without a further request, and only few are kept until then."""

    async def flood() -> tuple[int, int]:
        renderings = SharedRenderings[int](kept_seconds=0.05)
        for key in range(100):
            await renderings.get(key, lambda: 1)
        kept = len(renderings._finished)
        while renderings._finished:  # noqa: ASYNC110 -- there is no event for a timer
            await asyncio.sleep(0.01)
        return kept, len(renderings._shared)

    kept, left = asyncio.run(flood())
    assert kept <= 16
    assert left == 0


def test_a_failure_is_not_kept() -> None:
    """The next request after a failure renders again."""

    def fail() -> str:
        raise LookupError

    async def twice() -> str:
        renderings = SharedRenderings[str](kept_seconds=60)
        with pytest.raises(LookupError):
            await renderings.get("page", fail)
        return await renderings.get("page", lambda: "fine")

    assert asyncio.run(twice()) == "fine"


def test_a_disconnect_does_not_cancel_the_rendering_of_others() -> None:
    """A rendering continues for the other clients if the first one disconnects."""

    async def both() -> str:
        renderings = SharedRenderings[str]()
        first = asyncio.create_task(renderings.get("page", lambda: time.sleep(0.05) or "done"))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(renderings.get("page", lambda: "never"))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(both()) == "done"
