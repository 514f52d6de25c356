"""Hostile names, and records of `__consumer_offsets` that contain them in every field that a client can set.

A broker accepts most of them from real clients; the rest are written as raw records. Names are bytes, because some
are invalid UTF-8: the monitor shows them as Java decodes them.
"""

from typing import Final

from decoders.javatext import java_text
from stream.groups.placement import partition_for
from tests.support.raw import commit_key, commit_value, group_key, group_value

_TEXTS: Final = {
    "terminal sequences": "\x1b[6n\x1b]0;owned\x07\x1b[2J",
    "C1 controls": "\x9b6n\x9d0;owned\x9c\x85",
    "carriage return and backspace": "over\rwritten\x08\x08\x7f",
    "line feed": "one\nlagwarden_forged_total 1\n# EOF",
    "NUL": "before\0after",
    "quotes": "\"'`\\",
    "right-to-left override": "\u202egnp.exe\u2066\u200f\u061c",
    "line separators": "a\u2028b\u2029c\ufeffd\u00ad",
    "HTML element": "<xhostile onhostile=1>&amp;</title></script><script>hostile()</script>",
    "HTML attribute": '" onhostile="1" x=\'',
    "HTML comment": "--><!--<xhostile/>]]>",
    "Prometheus labels": 'a"} 1\nlagwarden_forged_total{group="b',
    "JSON": '","forged":{}}\\u0000',
    "path": "../..//%2e%2e/%00?name=x#y",
    "dots": "..",
    "templates": "{{ $labels.group }} ${x} %s %n {0}",
    "terminal markup": "[bold red]x[/] [link=http://h]y[/link] [/]",
    "Markdown": "`x` **b** [a](javascript:hostile()) | c |",
    "option": "--help",
    "combining characters": "Z\u0351\u036b\u0343" + "\u0300" * 60 + "\U0001f469\u200d\U0001f469",
    "non-characters": "\ufffe\uffff\U0010ffff",
    "spaces": "   ",
    "empty": "",
    "32 KB": "x" * 32_000,
    "32 KB of two-byte characters": "\u00e9" * 16_000,
}
NAMES: Final = {
    **{what: text.encode() for what, text in _TEXTS.items()},
    "lone surrogate": b"s\xed\xa0\x80s",
    "invalid UTF-8": b"\xff\xfe\x80",
    "NUL in two bytes": b"n\xc0\x80n",
    "beyond Unicode": b"b\xf4\x90\x80\x80b",
    "cut character": b"c\xe2\x82",
}
"""The names, by kind of attack."""
TOPIC: Final = "t"
MEMBERS_GROUP: Final = "members"


def shown(name: bytes) -> str:
    """Return the expected text of a name, as Java decodes it."""
    return java_text(name)


def records(partitions: int, time_ms: int) -> list[tuple[int, bytes, bytes]]:
    """Return (offsets partition, key, value): a group of each name, one with topics, one with members of all names."""
    found = []
    for name in NAMES.values():
        home = partition_for(shown(name), partitions)
        commit = commit_value(1, time_ms, metadata=name[:4096])
        found += [
            (home, commit_key(name, TOPIC, 0), commit),
            (home, commit_key(name, name, 1), commit),
            (home, group_key(name), group_value(1, [name], time=time_ms, client=name, host=name)),
        ]
    home = partition_for(MEMBERS_GROUP, partitions)
    # A value holds all members, and a batch of records at most a megabyte: all but the longest.
    short = [name for name in NAMES.values() if 0 < len(name) < 1000]
    value = group_value(1, [b"member " + name for name in short], time=time_ms, client=short[0], host=short[1])
    return [*found, (home, commit_key(MEMBERS_GROUP, TOPIC, 0), commit), (home, group_key(MEMBERS_GROUP), value)]
