"""Parsers and checks of single option values: durations, addresses, patterns, heap sizes; the cache directory.

pydantic calls them, as `stream.config.options` declares, and turns a ValueError into a validation error.
"""

import ipaddress
import os
import re
import string
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from stream.config.object_address import SCHEME, ObjectAddress, shown_address

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse_seconds(value: object) -> object:
    """Parse `10`, `10s`, `500ms`, `5m`, `2h` as seconds. Values that are not text are returned unchanged."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", value)
    if match is None or match.group(2) not in _UNITS:
        raise ValueError("must be a number of seconds, or a number followed by ms, s, m, h or d")
    return float(match.group(1)) * _UNITS[match.group(2)]


def parse_addresses(value: object) -> object:
    """Split comma-separated text; a list is returned unchanged. Raises ValueError if there is no address."""
    items = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not items:
        raise ValueError("must name at least one broker as host:port")
    return items


def check_address(value: str) -> str:
    """Return the value if it is `host:port`, with IPv6 in brackets. Raises ValueError."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s/\[\]]+):([0-9]{1,5})", value)
    if match is None or not 0 < int(match.group(2)) < 65536:
        raise ValueError(f"{value!r} must be host:port, such as broker-1:9092")
    return value


def split_patterns(value: object) -> object:
    """Split comma-separated text; a list, whose patterns may contain commas, is returned unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def check_pattern(value: str) -> str:
    """Return the value if it is a regular expression in RE2 syntax, as in Prometheus. Raises ValueError."""
    # Imported here: the engine is Arrow's, and `lagwarden version` does not need to load it.
    from exporters.selection.budget import pattern_error  # noqa: PLC0415

    if (problem := pattern_error(value)) is not None:
        raise ValueError(f"{value!r} is not a regular expression (RE2): {problem}")
    return value


def check_metric_name(value: str) -> str:
    """Return the value if it is the name of a metric that the selection can add or omit. Raises ValueError."""
    from exporters.catalogue.metrics import METRICS  # noqa: PLC0415 -- only needed where names are configured

    found = next((metric for metric in METRICS if metric.name == value), None)
    if found is None:
        raise ValueError(f"{value!r} is not the name of a metric: `lagwarden metrics` prints all of them")
    if not (found.source.in_snapshot or found.source.in_cluster):
        raise ValueError(f"{value!r} is about the monitor itself and always shown")
    return value


def check_exporter(value: str) -> str:
    """Return the value if it is the name of an exporter whose metrics can be shown. Raises ValueError."""
    from exporters.compatibility.selection import OTHER_BY_NAME  # noqa: PLC0415 -- only needed where names are configured

    if value not in OTHER_BY_NAME:
        raise ValueError(f"{value!r} must be one of {', '.join(OTHER_BY_NAME)}")
    return value


def check_target(value: str) -> str:
    """Return the value if it is `PATTERN=DURATION`. Raises ValueError."""
    parse_target(value)
    return value


def parse_target(value: str) -> tuple[str, float]:
    """Parse `PATTERN=DURATION` into pattern and seconds. The pattern may contain equals signs. Raises ValueError."""
    names, sign, duration = value.rpartition("=")
    if not sign:
        raise ValueError(f"{value!r} must be PATTERN=DURATION, such as 'billing-.*=30s'")
    number = parse_seconds(duration)
    if not isinstance(number, float) or number <= 0:
        raise ValueError(f"{value!r} must end in a duration above 0, such as 30s")
    return check_pattern(names.strip()), number


def parse_checkpoint_dir(value: object) -> object:
    """Return a path without the scheme `file://`, or the address of an object store; other values unchanged.

    Raises ValueError for other schemes.
    """
    scheme, separator, path = value.partition("://") if isinstance(value, str) else ("", "", "")
    if not separator:
        return value
    if scheme == SCHEME:
        return ObjectAddress.parse(str(value))
    if scheme != "file" or not path.startswith("/"):
        raise ValueError(
            f"{shown_address(str(value))!r} must be a path, or an address such as s3a://BUCKET/PATH (docs/cluster.md)"
        )
    return path


def check_store_endpoint(value: str) -> str:
    """Return the `http` or `https` URL of an object store, without a slash at its end. Raises ValueError."""
    example = "https://minio.example.com:9000, without a path"
    parts = urlsplit(check_url(value, example))
    if parts.path.strip("/") or parts.query:
        raise ValueError(f"must be a URL such as {example}")
    return value.rstrip("/")


def _matching(pattern: str, words: str) -> AfterValidator:
    """Return the check that a whole value matches a pattern; `words` say what it must be, with an example."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r} must be {words}")
        return value

    return AfterValidator(check)


def split_http_url(value: str, example: str) -> SplitResult:
    """Return the parts of an `https` or `http` URL with a host. Raises ValueError, with an example."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        raise ValueError(f"must be a URL such as {example}")
    return parts


def check_url(value: str, example: str = "https://events.example.com/lagwarden") -> str:
    """Return the value if it is an `https` or `http` URL without user name and password. Raises ValueError."""
    parts = split_http_url(value if value.isascii() and value.isprintable() else "", example)
    if parts.username is not None or parts.fragment or " " in value:
        raise ValueError("must be a URL without user name, password, fragment and spaces")
    return value


def check_token_endpoint(value: str) -> str:
    """Return the value if it is an `https` URL, or an `http` URL of this machine. Raises ValueError."""
    parts = urlsplit(check_url(value, "https://login.example.com/oauth2/token"))
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("must be an https URL: the client secret would be sent in the clear")
    return value


def check_base_url(value: str) -> str:
    """Return an `https` or `http` URL without a slash at its end. Raises ValueError if it is another text."""
    if any(mark in check_url(value) for mark in "?#,"):
        raise ValueError("must be a URL such as http://lagwarden-0.kafka.svc:10848")
    return value.rstrip("/")


def check_messages_url(value: str) -> str:
    """Return the value if it is a URL with `{topic}` and perhaps `{partition}` and `{offset}`. Raises ValueError."""
    advice = "must be a URL such as https://kafka.example.com/{topic}/messages?partition={partition}&offset={offset}"
    try:
        fields = [fields for _, *fields in string.Formatter().parse(value) if fields[0] is not None]
    except ValueError as error:
        raise ValueError(f"{advice}: {error}") from error
    wrong = [name for name, *rest in fields if name not in {"topic", "partition", "offset"} or any(rest)]
    if wrong or ["topic", "", None] not in fields:
        why = f"{{{wrong[0]}}} is none of these" if wrong else "{topic} is missing"
        raise ValueError(f"{advice}: {why}")
    # The name of a topic must not decide to which server a link leads.
    if "{" in urlsplit(check_url(value)).netloc:
        raise ValueError(f"{advice}: the host must have no placeholder")
    return value


def split_urls(value: object) -> object:
    """Split text at commas before another `http` or `https` URL; nothing is no URL; a list is returned unchanged."""
    return re.split(r",\s*(?=https?://)", value.strip()) if isinstance(value, str) else value or ()


def check_otlp_endpoint(value: str) -> str:
    """Return the value if it is the whole URL of a receiver of OTLP metrics over HTTP. Raises ValueError."""
    if not urlsplit(check_url(value)).path.strip("/"):
        raise ValueError("must be a whole URL such as http://collector:4318/v1/metrics")
    return value


def check_resource_attributes(value: dict[str, str]) -> dict[str, str]:
    """Return the pairs if no name and no value is empty. Raises ValueError."""
    wrong = sorted(name for name, text in value.items() if not name.strip() or not text.strip())
    if wrong:
        raise ValueError(f"{wrong[0]!r} must have a name and a value, as in deployment.environment=production")
    return value


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine, by its address or as `localhost`."""
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost"


def check_label_text(value: str) -> str:
    """Return the value if it can be a label of every series and a word on a page. Raises ValueError."""
    if not value.isprintable() or value != value.strip():
        raise ValueError(f"{value!r} must be printable text without spaces at its ends")
    return value


def check_sasl_extensions(value: dict[str, str]) -> dict[str, str]:
    """Return the pairs if they can be SASL extensions (RFC 7628, section 3.1). Raises ValueError."""
    wrong = sorted(name for name in value if not re.fullmatch(r"[A-Za-z]+", name) or name == "auth")
    wrong += sorted(name for name, text in value.items() if not re.fullmatch(r"[\x20-\x7e\t\r\n]*", text))
    if wrong:
        raise ValueError(f"{wrong[0]!r} must be a name of letters, other than auth, with a value of ASCII text")
    return value


def cache_folder() -> Path:
    """Return the cache directory: $LAGWARDEN_CACHE, else lagwarden/ in $XDG_CACHE_HOME, else ~/.cache/lagwarden."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "lagwarden"
    return Path(os.environ.get("LAGWARDEN_CACHE") or base).expanduser().absolute()


def class_archive_folder() -> Path:
    """Return the directory of the JVM class archives."""
    return cache_folder() / "classes"


Seconds = Annotated[float, BeforeValidator(parse_seconds)]
Patterns = Annotated[tuple[Annotated[str, AfterValidator(check_pattern)], ...], BeforeValidator(split_patterns)]
MetricNames = Annotated[tuple[Annotated[str, AfterValidator(check_metric_name)], ...], BeforeValidator(split_patterns)]
HeapSize = Annotated[str, _matching("(?i)[1-9][0-9]*[kmgt]", "a whole number followed by k, m, g or t, such as 2g")]
"""A heap size in the form of Java's `-Xmx`."""
_Setting = Annotated[str, _matching("[a-z][a-z0-9._]*", "the name of a setting of a topic, such as retention.ms")]
TopicSettings = Annotated[tuple[_Setting, ...], BeforeValidator(split_patterns)]
OtherExporters = Annotated[tuple[Annotated[str, AfterValidator(check_exporter)], ...], BeforeValidator(split_patterns)]
BaseUrl = Annotated[str, AfterValidator(check_base_url)]
MessagesUrl = Annotated[str, AfterValidator(check_messages_url)]
BaseUrls = Annotated[tuple[BaseUrl, ...], BeforeValidator(split_patterns)]
WebhookUrls = Annotated[tuple[Annotated[str, AfterValidator(check_url)], ...], BeforeValidator(split_urls)]
_HostName = Annotated[
    str, _matching("[A-Za-z0-9*_.-]+", "the name of a host without a port, such as lagwarden.example.com")
]
HostNames = Annotated[tuple[_HostName, ...], BeforeValidator(split_patterns)]
Targets = Annotated[tuple[Annotated[str, AfterValidator(check_target)], ...], BeforeValidator(split_patterns)]
LabelText = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_label_text)]
Address = Annotated[str, AfterValidator(check_address)]
