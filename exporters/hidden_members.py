"""Hides the identity of group members, for an HTTP server whose readers may see groups but not their clients."""

import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

from exporters.readmodel import GroupDetail, MemberDetail

_DIGITS: Final = 12
"""48 bits: of a million groups of 10,000 members, not one is expected to have two members of the same name."""


class HiddenMembers:
    """Returns the details of groups with generated names instead of the ids, clients, hosts and racks of members.

    A member keeps its name until the process ends, which distinguishes members that come and go. The name is a
    keyed hash: knowing a candidate for an id does not help to find its name.
    """

    def __init__(self, details: Callable[[str], GroupDetail | None]) -> None:
        self._details = details
        self._key = secrets.token_bytes(32)

    def __call__(self, group: str) -> GroupDetail | None:
        """Return the detail of a group; None if the group is not known."""
        detail = self._details(group)
        return None if detail is None else dataclasses.replace(detail, members=tuple(map(self._hidden, detail.members)))

    def _hidden(self, member: MemberDetail) -> MemberDetail:
        return dataclasses.replace(
            member,
            member_id=self._name("member", member.member_id),
            instance_id=None if member.instance_id is None else self._name("static", member.instance_id),
            client_id=None,
            client_host=None,
            rack=None,
        )

    def _name(self, kind: str, value: str) -> str:
        digest = hmac.digest(self._key, f"{kind}:{value}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"{kind}-{digest.hex()[:_DIGITS]}"
