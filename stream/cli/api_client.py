"""A running lagwarden, asked over HTTP. Only the standard library: a verb that asks once needs no more."""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Final

from stream.cli.group_source import unix_time
from stream.errors import ExitCode, Refusal
from stream.wording import compact_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cli.group_source import Answer
    from stream.config.options import HttpOptions

TIMEOUT_SECONDS: Final = 15.0
_STALE_SECONDS: Final = 60.0
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 -- not listened on here
_ELSE: Final = "start `lagwarden run`, name a running one with --url, or read a capture with --capture"


def instance_address(configured: HttpOptions) -> str:
    """Give the address of the instance that a configuration makes, as seen from this machine."""
    if configured.port == 0:
        what = "http.port is 0: which port it became, only the log of the running instance tells"
        raise Refusal(what, "give --url", ExitCode.USAGE)
    host = _ANY_ADDRESS.get(configured.host, configured.host)
    return f"http://[{host}]:{configured.port}" if ":" in host else f"http://{host}:{configured.port}"


class InstanceClient:
    """An instance at an address such as `http://127.0.0.1:10848`, behind whatever path a proxy has put it."""

    knows_ends = True

    def __init__(self, url: str, clock: Callable[[], float] = time.time, otherwise: str = _ELSE) -> None:
        """Take the address, and what a person can do where nobody answers there. Raises Refusal if it is none."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._clock = clock
        self._otherwise = otherwise
        self._url = url.rstrip("/")
        parts = urllib.parse.urlsplit(self._url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            what = f"--url {url} is no address of a lagwarden"
            raise Refusal(what, "give one such as http://127.0.0.1:10848", ExitCode.USAGE)
        # What listens on this machine is not reached through a proxy, whatever the environment says.
        handlers = [urllib.request.ProxyHandler({})] if _is_loopback(parts.hostname) else []
        self._opener = urllib.request.build_opener(*handlers)

    @property
    def address(self) -> str:
        """Give who is asked."""
        return self._url

    def groups(self) -> Answer:
        """Give all groups."""
        return self._current("/api/v1/groups") or self._foreign()

    def group(self, name: str) -> Answer | None:
        """Give one group; None if there is none. In the query any name arrives as it is."""
        return self._current(f"/api/v1/group?name={urllib.parse.quote(name, safe='')}")

    def _current(self, path: str) -> Answer | None:
        answer = self._ask(path)
        taken = unix_time(answer["snapshot_time"]) if answer else None
        age = 0.0 if taken is None else self._clock() - taken
        if age > _STALE_SECONDS:
            old = compact_duration(age)
            self.notes = [f"these numbers are {old} old: lagwarden does not get newer ones; see {self._url}/"]
        return answer

    def _ask(self, path: str) -> Answer | None:
        try:
            with self._opener.open(self._url + path, timeout=TIMEOUT_SECONDS) as response:
                return self._read(response.read())
        except urllib.error.HTTPError as error:
            with error:
                self._refuse(error.code, self._read(error.read()))
                return None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise Refusal(
                f"no lagwarden answers at {self._url} ({said})", self._otherwise, ExitCode.NO_INSTANCE
            ) from error

    def _refuse(self, code: int, answer: Answer) -> None:
        """Raise what an answer other than 200 means; a group that is not there is no refusal."""
        if code == http.HTTPStatus.NOT_FOUND and answer.get("error") == "no such group":
            return
        if code == http.HTTPStatus.SERVICE_UNAVAILABLE and "phase" in answer:
            why = " ".join(answer.get("reasons", ()))
            what = f"lagwarden at {self._url} is not ready yet: {answer['phase']}. {why}".rstrip(". ")
            raise Refusal(what, f"try again later; {self._url}/ shows how far it is", ExitCode.NOT_READY)
        what = f"{self._url} answers {code}: {answer.get('error', 'no reason given')}"
        raise Refusal(what, "try again, or check --url", ExitCode.NO_INSTANCE)

    def _read(self, body: bytes) -> Answer:
        try:
            answer: Any = json.loads(body)
        except ValueError:
            answer = None
        return answer if isinstance(answer, dict) else self._foreign()

    def _foreign(self) -> Answer:
        what = f"what answers at {self._url} is no lagwarden"
        raise Refusal(what, "check the address and --url", ExitCode.NO_INSTANCE)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
