"""The distinct keys of a batch: each place has one canonical key, from which its group is read."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import DistinctKeys, RecordRole, groups_of_commit_keys
from tests.support.raw import commit_key, group_key

NAMES = st.one_of(st.text(max_size=12), st.sampled_from(["", "g", "groupé", "😀", "x" * 300]))
COMMITS = st.builds(commit_key, NAMES, NAMES, st.integers(0, 9), record_type=st.integers(0, 1))
ODD = st.sampled_from([b"", b"\x00\x01\x00\x01\xff\x00\x01t\x00\x00\x00\x00", commit_key("g", "t", 0) + b"tail"])
KEYS = st.lists(st.one_of(COMMITS, st.builds(group_key, NAMES), ODD), max_size=20, unique=True)


@given(KEYS)
def test_the_group_of_a_canonical_key_is_that_of_the_key(keys: list[bytes]) -> None:
    """The group read from the start of the key equals the group of the decoded key, for every commit key."""
    column = pa.array(keys, pa.binary())
    distinct = DistinctKeys.build(column, decode_keys(column))
    canonical = distinct.canonical_keys.take(pa.array(distinct.canonical[:-1][distinct.role[:-1] == RecordRole.COMMIT]))
    read = decode_keys(canonical)
    assert not read.declined.any()
    assert groups_of_commit_keys(canonical).cast(pa.string()).to_pylist() == read.group.to_pylist()
