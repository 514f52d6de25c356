"""How single values of the configuration are read and judged: durations, addresses, heaps, keys, the cache folder.

Functions of one value. Which option takes what is `stream.config.options`; pydantic calls these and takes a
ValueError for a fault.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
# The object identifier 1.2.840.113549.1.5.13 in DER: what OpenSSL encrypts keys by, unless told otherwise.
_PBES2: Final = bytes.fromhex("2a864886f70d01050d")
_OWN_CONSUMER_OPTIONS: Final = re.compile(
    r"(bootstrap\.servers|security\.protocol|sasl\..*|ssl\..*|group\.id|auto\.offset\.reset|enable\.auto\.commit"
    r"|isolation\.level|key\.deserializer|value\.deserializer|interceptor\.classes)"
)


def parse_seconds(value: object) -> object:
    """Read `10`, `10s`, `500ms`, `5m`, `2h` as seconds."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", value)
    if found is None or found.group(2) not in _UNITS:
        raise ValueError("must be a number of seconds, or a number with ms, s, m, h or d behind it")
    return float(found.group(1)) * _UNITS[found.group(2)]


def parse_addresses(value: object) -> object:
    """Read a comma-separated text or a list, of one address at least."""
    found = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not found:
        raise ValueError("must name at least one broker as host:port")
    return found


def check_address(value: str) -> str:
    """Check `host:port`, with IPv6 in brackets."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s/\[\]]+):([0-9]{1,5})", value)
    if found is None or not 0 < int(found.group(2)) < 65536:
        raise ValueError(f"{value!r} must be host:port, such as broker-1:9092")
    return value


def split_patterns(value: object) -> object:
    """Read a comma-separated text or a list; in a text a comma always separates."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def check_pattern(value: str) -> str:
    """Check a regular expression as Prometheus writes them."""
    # The engine is Arrow's, which `lagwarden version` need not load.
    from exporters.selection.names import problem_of  # noqa: PLC0415

    if (problem := problem_of(value)) is not None:
        raise ValueError(f"{value!r} is no regular expression (RE2): {problem}")
    return value


def check_target(value: str) -> str:
    """Check `PATTERN=DURATION`."""
    parse_target(value)
    return value


def parse_target(value: str) -> tuple[str, float]:
    """Read `PATTERN=DURATION` as the pattern and the seconds; a pattern may itself have an equals sign."""
    names, sign, duration = value.rpartition("=")
    if not sign:
        raise ValueError(f"{value!r} must be PATTERN=DURATION, such as 'billing-.*=30s'")
    number = parse_seconds(duration)
    if not isinstance(number, float) or number <= 0:
        raise ValueError(f"{value!r} must end in a duration above 0, such as 30s")
    return check_pattern(names.strip()), number


def check_heap_size(value: str) -> str:
    """Check the size of a heap as Java writes it."""
    if not re.fullmatch(r"[1-9][0-9]*[kmgt]", value.lower()):
        raise ValueError("must be a whole number with k, m, g or t behind it, such as 2g")
    return value


def check_consumer_options(value: dict[str, str]) -> dict[str, str]:
    """Check that no option is taken that lagwarden decides itself."""
    taken = sorted(name for name in value if _OWN_CONSUMER_OPTIONS.fullmatch(name))
    if taken:
        raise ValueError(f"{', '.join(taken)} is decided by lagwarden or by its own options")
    return value


def cache_folder() -> Path:
    """Return the cache folder: $LAGWARDEN_CACHE, else lagwarden/ in $XDG_CACHE_HOME, else ~/.cache/lagwarden."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "lagwarden"
    return Path(os.environ.get("LAGWARDEN_CACHE") or base).expanduser().absolute()


def connector_jars_folder() -> Path:
    """Give the folder into which `make setup` fetches the connector's jars."""
    return cache_folder() / "jars" / "connector"


def class_archive_folder() -> Path:
    """Give the folder of the JVM's class archives."""
    return cache_folder() / "classes"


Seconds = Annotated[float, BeforeValidator(parse_seconds)]
Patterns = Annotated[tuple[Annotated[str, AfterValidator(check_pattern)], ...], BeforeValidator(split_patterns)]
Targets = Annotated[tuple[Annotated[str, AfterValidator(check_target)], ...], BeforeValidator(split_patterns)]
Address = Annotated[str, AfterValidator(check_address)]


def java_key_problem(key: bytes) -> str | None:
    """Say why Kafka's Java client would refuse a key that Python takes, or None."""
    found = re.search(rb"-----BEGIN (ENCRYPTED )?PRIVATE KEY-----([^-]*)-----END", key)
    if found is None:
        return "must be PKCS#8, as Java reads no other: openssl pkcs8 -topk8 converts it"
    if found.group(1) and _PBES2 in base64.b64decode(found.group(2)):
        return "is encrypted by PBES2, which Java 17 cannot read: openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES converts it"
    return None
