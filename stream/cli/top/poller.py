"""Asks an instance again and again on a thread of its own, so that keys are answered while an answer is on its way."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import threading
from typing import TYPE_CHECKING, Self

from stream.cli.top.model import worst_first
from stream.errors import Refusal

if TYPE_CHECKING:
    from stream.cli.api_client import Running
    from stream.cli.group_source import Answer


@dataclasses.dataclass(frozen=True, slots=True)
class Answers:
    """The newest there is. `trouble` says why it is not newer; an opened group that is gone is trouble too."""

    groups: tuple[Answer, ...] | None = None
    snapshot_time: str | None = None
    detail: Answer | None = None
    trouble: str = ""


def answered(source: Running) -> Answers:
    """Ask once for all groups. Raises Refusal."""
    answer = source.groups()
    return Answers(worst_first(answer["groups"]), answer["snapshot_time"])


class Asking:
    """Keeps `answers` new while it is entered. `wake` becomes readable when they have changed."""

    def __init__(self, source: Running, every: float, first: Answers) -> None:
        """Take who is asked, how many seconds lie between two questions, and what is known already."""
        self._source = source
        self._every = every
        self._opened: str | None = None
        self._changed = threading.Event()
        self._over = False
        self.answers = first
        self.wake, self._woken = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._woken, False)
        # A question may hang for its whole time limit; nobody waits for it at the end.
        self._thread = threading.Thread(target=self._run, name="asking", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._changed.set()

    def look_at(self, group: str | None) -> None:
        """Ask for this group from now on, at once; None: for all groups."""
        if group != self._opened:
            self._opened = group
            self._changed.set()

    def quietened(self, seconds: float = 0.0) -> bool:
        """Take note that the answers will be looked at; tell whether they have changed, waiting so long for it."""
        if not select.select([self.wake], [], [], seconds)[0]:
            return False
        os.read(self.wake, 4096)
        return True

    def _run(self) -> None:
        while not self._over:
            self._changed.wait(self._every)
            self._changed.clear()
            self.answers = self._ask(self.answers, self._opened)
            # Where nobody has looked for long, it is readable already.
            with contextlib.suppress(BlockingIOError):
                os.write(self._woken, b".")

    def _ask(self, before: Answers, opened: str | None) -> Answers:
        try:
            if opened is not None:
                detail = self._source.group(opened)
                gone = "" if detail else "this group is not known any more"
                return dataclasses.replace(before, detail=detail or before.detail, trouble=gone)
            return answered(self._source)
        except Refusal as refusal:
            return dataclasses.replace(before, trouble=refusal.what)
