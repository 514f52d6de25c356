"""The lost memberships of a group: periods in which a client was no member, although its scenario has it as one."""

from __future__ import annotations


class LostMemberships:
    """Records for which periods clients of a group had lost their membership, by what a runner notes of each client.

    A period begins when the client was a member for the last time and ends when the client that replaces it, which has
    the same name, is a member, or when the scenario removes it. Times are Unix seconds.
    """

    def __init__(self) -> None:
        self._member_at: dict[str, float] = {}
        self._lost_since: dict[str, float] = {}
        self._ended: list[tuple[float, float]] = []

    def note_member(self, name: str, now: float) -> None:
        """Note that a client is a member."""
        self._end(name, now)
        self._member_at[name] = now

    def note_lost(self, name: str, now: float) -> None:
        """Note that a client has lost its membership, does not join again, and is replaced."""
        self._lost_since.setdefault(name, self._member_at.get(name, now))

    def note_removed(self, name: str, now: float) -> None:
        """Note that the scenario closes or hangs a client: that it is no member from then on is intended."""
        self._end(name, now)
        self._member_at.pop(name, None)

    def periods(self, now: float) -> list[tuple[float, float]]:
        """Return all periods; those that have not ended end `now`."""
        return [*self._ended, *((since, now) for since in list(self._lost_since.values()))]

    def _end(self, name: str, now: float) -> None:
        if name in self._lost_since:
            self._ended.append((self._lost_since[name], now))
            del self._lost_since[name]
