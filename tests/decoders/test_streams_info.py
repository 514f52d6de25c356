"""Data that Kafka Streams writes with DataOutput: one assignment per layout; the conformance test has all versions."""

import struct

from decoders.blobs import streams_assignment_info
from decoders.errors import DecodeError

TASK = {"subtopology": 1, "partition": 2, "named_topology": None}
HOST = struct.pack(">H", 1) + b"h" + struct.pack(">i", 80)
TOPIC = struct.pack(">H", 1) + b"t"
TASKS = struct.pack(">iii", 1, 1, 2) + struct.pack(">i", 0)
BY_NAME = (
    struct.pack(">i", 1) + HOST + struct.pack(">i", 2) + TOPIC + struct.pack(">i", 0) + TOPIC + struct.pack(">i", 3)
)
DICTIONARY = struct.pack(">ii", 1, 7) + TOPIC
BY_NUMBER = struct.pack(">i", 1) + HOST + struct.pack(">iii", 1, 7, 3)
NONE = struct.pack(">i", 0)

LAYOUTS = {
    "v1: only tasks": (1, TASKS, {}),
    "v2: hosts by name": (2, TASKS + BY_NAME, {"partitions_by_host": {"h:80": {"t": (0, 3)}}}),
    "v4: an error code": (
        4,
        struct.pack(">i", 11) + TASKS + BY_NAME + struct.pack(">i", 2),
        {"commonly_supported_version": 11, "partitions_by_host": {"h:80": {"t": (0, 3)}}, "error_code": 2},
    ),
    "v5: a topic dictionary": (
        5,
        struct.pack(">i", 11) + TASKS + DICTIONARY + BY_NUMBER + struct.pack(">i", 0),
        {"commonly_supported_version": 11, "partitions_by_host": {"h:80": {"t": (3,)}}, "error_code": 0},
    ),
    "v7: standbys and the next rebalance": (
        7,
        struct.pack(">i", 11) + TASKS + DICTIONARY + BY_NUMBER + NONE + struct.pack(">iq", 0, 99),
        {
            "commonly_supported_version": 11,
            "partitions_by_host": {"h:80": {"t": (3,)}},
            "standby_partitions_by_host": {},
            "error_code": 0,
            "next_rebalance_ms": 99,
        },
    ),
}


def test_an_assignment_of_each_layout_is_decoded() -> None:
    """The complete bytes give the fields; truncated anywhere they give one error inside the user data."""
    for story, (version, body, other_fields) in LAYOUTS.items():
        raw = struct.pack(">i", version) + body
        assert streams_assignment_info(raw) == {
            "version": version,
            "active_tasks": (TASK,),
            "standby_tasks": (),
            **other_fields,
        }
        for length in range(1, len(raw)):
            error = streams_assignment_info(raw[:length])
            assert isinstance(error, DecodeError), story
            assert error.field.startswith("user_data"), story


def test_a_named_topology_is_utf16_after_the_task() -> None:
    """A task may belong to a named topology since v10. Standby tasks list the partitions that they read."""
    named = struct.pack(">iii", 1, 2, 1) + "ü".encode("utf-16-be")
    standby = struct.pack(">i", 1) + named + struct.pack(">i", 1) + TOPIC + struct.pack(">i", 5)
    rest = NONE + NONE + NONE + struct.pack(">iq", 0, 0)
    fields = streams_assignment_info(struct.pack(">iii", 10, 11, 0) + standby + rest)
    assert fields["standby_tasks"] == ({**TASK, "named_topology": "ü", "partitions": {"t": (5,)}},)


def test_modified_utf8_has_two_byte_nul_and_surrogate_pairs() -> None:
    """Java writes NUL as two bytes and a character above 16 bits as two surrogates; invalid bytes are replaced."""
    pair = b"".join(chr(unit).encode("utf-8", "surrogatepass") for unit in (0xD83D, 0xDE00))
    for text, name in ((b"\xc0\x80", "\0"), (pair, "😀"), (b"\xff", "\ufffd")):
        topic = struct.pack(">H", len(text)) + text
        by_name = struct.pack(">i", 1) + HOST + struct.pack(">i", 1) + topic + struct.pack(">i", 0)
        fields = streams_assignment_info(struct.pack(">i", 2) + TASKS + by_name)
        assert fields["partitions_by_host"] == {"h:80": {name: (0,)}}
