"""A client of the HTTP API of a running instance. It uses only the standard library: a command sends one request."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporters.group_query import ALL_GROUPS, GroupQuery
from exporters.wording import duration, unix_time
from stream.cli.group_source import Answer
from stream.cli.instance_login import LOGIN_ADVICE, instance_login
from stream.cli.render.tables import display_text
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from stream.config.options import HttpOptions

TIMEOUT_SECONDS: Final = 15.0
_NOT_FOUND: Final = frozenset({"no such group", "no group reads a topic of this name"})
_REFUSED: Final[Mapping[int, str]] = {http.HTTPStatus.BAD_REQUEST: "", http.HTTPStatus.FORBIDDEN: "leave it out"}
"""The advice by status."""
_STALE_SECONDS: Final = 60.0
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 -- not listened on here
_ADVICE: Final = "start `lagwarden run`, name a running instance with --url, or read a capture with --capture"


def instance_address(configured: HttpOptions) -> str:
    """Return the URL of an instance with this configuration, as seen from this machine. Raises Refusal for port 0."""
    if configured.port == 0:
        what = "http.port is 0: only the log of the running instance shows its port"
        raise Refusal(what, "name the instance with --url", ExitCode.USAGE)
    host = _ANY_ADDRESS.get(configured.host, configured.host)
    return f"http://[{host}]:{configured.port}" if ":" in host else f"http://{host}:{configured.port}"


class InstanceClient:
    """A client of the instance at a URL such as `http://127.0.0.1:10848`; a proxy may have added a path."""

    knows_ends = True

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] = time.time,
        advice: str = _ADVICE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`advice` is printed if no instance answers at the URL. `environment` has the login, `os.environ` by default.

        Raises Refusal if `url` is not an http(s) URL, or a file of the login cannot be read.
        """
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.is_stale = False
        """Whether the last answer is of an old snapshot."""
        self._clock = clock
        self._advice = advice
        self.address: Final = url.rstrip("/")
        """The URL of the instance."""
        # An instance on this machine is never requested through a proxy of the environment.
        handlers: list[urllib.request.BaseHandler] = [_LoginKeeper()]
        if _is_loopback(_host(url)):
            handlers.append(urllib.request.ProxyHandler({}))
        authorization, ca_file = instance_login(os.environ if environment is None else environment)
        if ca_file is not None:
            handlers.append(urllib.request.HTTPSHandler(context=_tls(ca_file)))
        self._opener = urllib.request.build_opener(*handlers)
        self._headers = {} if authorization is None else {"Authorization": authorization}

    def groups(self, query: GroupQuery = ALL_GROUPS) -> Answer:
        """Return the groups of a query. Raises Refusal."""
        answer = self._current(f"/api/v1/groups{_parameters(query)}") or self._refuse_foreign()
        name, part = answer.get("cluster_name"), note_of_part(answer)
        notes = [f"cluster: {display_text(str(name))}"] if name else []
        self.notes = list(dict.fromkeys([*self.notes, *notes, *([part] if part else [])]))
        return answer

    def group(self, name: str) -> Answer | None:
        """Return one group, or None if there is none of that name. Raises Refusal.

        The name is a query parameter: proxies normalize paths.
        """
        return self._current(f"/api/v1/group?name={urllib.parse.quote(name, safe='')}")

    def topic_groups(self, topic: str, query: GroupQuery = ALL_GROUPS) -> Answer | None:
        """Return the groups of a query that read a topic, or None if none reads it. Raises Refusal."""
        return self._current(f"/api/v1/topics/{urllib.parse.quote(topic, safe='')}/groups{_parameters(query)}")

    def _current(self, path: str) -> Answer | None:
        answer = self._request(path)
        snapshot_time = unix_time(answer["snapshot_time"]) if answer else None
        age = 0.0 if snapshot_time is None else self._clock() - snapshot_time
        self.is_stale = age > _STALE_SECONDS
        if self.is_stale:
            old = duration(age)
            self.notes = [f"these numbers are {old} old: the instance has no newer snapshot; see {self.address}/"]
        return answer

    def _request(self, path: str) -> Answer | None:
        try:
            code, body = self._exchange(path)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            cause = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise Refusal(
                f"no lagwarden answers at {self.address} ({cause})", self._advice, ExitCode.NO_INSTANCE
            ) from error
        answer = self._read(body)
        if code == http.HTTPStatus.OK:
            return answer
        self._refuse(code, answer)
        return None

    def _exchange(self, path: str) -> tuple[int, bytes]:
        """Return status and body of the response to a request. Raises OSError and HTTPException."""
        request = urllib.request.Request(self.address + path, headers=self._headers)  # noqa: S310 -- http or https
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return http.HTTPStatus.OK, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def _refuse(self, code: int, answer: Answer) -> None:
        """Raise the Refusal for a status other than 200; returns for an unknown group or topic."""
        if code == http.HTTPStatus.NOT_FOUND and answer.get("error") in _NOT_FOUND:
            if "instance" in answer:
                raise _other_instance(answer)
            return
        if code == http.HTTPStatus.SERVICE_UNAVAILABLE and "phase" in answer:
            reasons = " ".join(answer.get("reasons", ()))
            what = f"lagwarden at {self.address} is not ready yet: {answer['phase']}. {reasons}".rstrip(". ")
            raise Refusal(what, f"try again later; {self.address}/ shows the progress", ExitCode.NOT_READY)
        if code == http.HTTPStatus.UNAUTHORIZED:
            refused = f"lagwarden at {self.address} refuses the login"
            what = refused if self._headers else f"{self.address} needs a login"
            raise Refusal(what, LOGIN_ADVICE, ExitCode.NO_INSTANCE)
        if code in _REFUSED and answer.get("error"):
            raise Refusal(f"lagwarden at {self.address} refuses: {answer['error']}", _REFUSED[code], ExitCode.USAGE)
        what = f"{self.address} answers with status {code}: {answer.get('error', 'no reason given')}"
        raise Refusal(what, "try again, or check --url", ExitCode.NO_INSTANCE)

    def _read(self, body: bytes) -> Answer:
        try:
            answer: Any = json.loads(body)
        except ValueError:
            answer = None
        return answer if isinstance(answer, dict) else self._refuse_foreign()

    def _refuse_foreign(self) -> Answer:
        what = f"the server at {self.address} is not lagwarden"
        raise Refusal(what, "check the address and --url", ExitCode.NO_INSTANCE)


def _parameters(query: GroupQuery) -> str:
    parameters = urllib.parse.urlencode(list(query.pairs()))
    return f"?{parameters}" if parameters else ""


class _LoginKeeper(urllib.request.HTTPRedirectHandler):
    """Follows redirects without the login, unless they lead to the same server."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:
        """See HTTPRedirectHandler, which would send all headers on; `rest` ends with the new URL."""
        redirected = super().redirect_request(req, *rest)
        if redirected is not None and not keeps_login(req.full_url, redirected.full_url):
            redirected.remove_header("Authorization")
        return redirected


def keeps_login(url: str, other: str) -> bool:
    """Return whether a login for one URL may be sent to another: to the same server, or to its default HTTPS port."""
    first, second = (urllib.parse.urlsplit(each) for each in (url, other))
    ports = [each.port or _DEFAULT_PORTS.get(each.scheme) for each in (first, second)]
    is_upgrade = (first.scheme, second.scheme) == ("http", "https") and ports == list(_DEFAULT_PORTS.values())
    is_same = first.scheme == second.scheme and ports[0] == ports[1]
    return first.hostname == second.hostname and (is_same or is_upgrade)


def note_of_part(answer: Answer) -> str:
    """Return a line about the groups that the instance does not have; empty if it has all of them."""
    if "instance" not in answer:
        return ""
    part = display_text(str(answer["instance"]))
    number = part.partition("/")[0]
    others = [display_text(str(url)) for at, url in enumerate(answer.get("siblings", ())) if str(at) != number]
    return f"these are the groups of instance {part}" + (f"; the others: {', '.join(others)}" if others else "")


def _other_instance(answer: Answer) -> Refusal:
    """Return the error for a group that another instance monitors."""
    group, part, url = (display_text(str(answer.get(name, ""))) for name in ("group", "instance", "url"))
    advice = f"use --url {url}" if url else "use --url with the address of that instance"
    return Refusal(f"instance {part} monitors groups named {group}, not this one", advice, ExitCode.NO_SUCH_GROUP)


def _host(url: str) -> str:
    """Return the host of an http or https URL. Raises Refusal for another text."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # half an IPv6 address, or a port that is no number
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        what = f"--url {url} is not an http or https URL"
        raise Refusal(what, "name an instance such as http://127.0.0.1:10848", ExitCode.USAGE)
    return host


def _tls(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror if not isinstance(error, ssl.SSLError) else "no certificate in PEM format"
        raise Refusal(
            f"LAGWARDEN_CA_FILE: {ca_file} cannot be read: {reason}", "name a PEM file", ExitCode.USAGE
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
