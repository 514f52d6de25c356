"""Hidden members: API, pages and commands do not show who they are, and show everything else."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.group_search import hidden_members
from exporters.http.api import group_json
from exporters.http.openapi.small_world import NOON
from exporters.page.group import group_page
from exporters.readmodel import GroupDetail, MemberDetail
from exporters.text.exposition import PublishedSnapshot
from stream.cli.render.group_tables import members_table, offsets_table
from stream.cli.render.tables import plain_lines
from tests.exporters.snapshots import detail, member, small_snapshot

IDENTITY = ("member_id", "instance_id", "client_id", "client_host", "rack")
WHO = member("who-id", instance_id="who-static", client_id="who-client", client_host="/who-host", rack="who-rack")


def hidden(*members: MemberDetail) -> GroupDetail:
    found = hidden_members(lambda group: detail(group, members=members))("billing")
    assert found is not None
    return found


@pytest.mark.parametrize("shown", [detail(members=(WHO,)), hidden(WHO)], ids=["shown", "hidden"])
def test_no_reader_sees_who_a_member_is(shown: GroupDetail) -> None:
    """API, page and tables of the commands do not show who a hidden member is; without hiding all of them do."""
    published = PublishedSnapshot.build(small_snapshot())
    answer = group_json(published.snapshot, "billing", shown)
    assert answer is not None
    group = json.loads(answer)
    tables = [members_table(group, verbose=True), offsets_table(group, NOON / 1000)]
    seen = [
        answer.decode(),
        group_page(published, "billing", shown, NOON / 1000, root="../").html().decode(),
        "\n".join(line for table in tables for line in plain_lines(table)),
    ]
    assert ["who-" in text for text in seen] == [shown.members == (WHO,)] * len(seen)
    assert all("orders" in text for text in seen)


def test_a_hidden_member_keeps_all_but_its_identity() -> None:
    """Another process has other names, so that they cannot be collected. A static id stays one; None stays None."""
    assert [_without_identity(each) for each in hidden(*detail().members).members] == [
        _without_identity(each) for each in detail().members
    ]
    static, dynamic = hidden(WHO, member("other")).members
    assert static.member_id != hidden(WHO).members[0].member_id
    assert static.instance_id is not None
    assert dynamic.instance_id is None
    assert hidden_members(lambda _: None)("nope") is None


def _without_identity(each: MemberDetail) -> MemberDetail:
    return dataclasses.replace(each, **dict.fromkeys(IDENTITY))


@given(st.lists(st.text(), min_size=2, max_size=8, unique=True))
def test_members_have_different_names(ids: list[str]) -> None:
    """Law: different ids, whatever their characters, have different names, and the same id has the same name."""
    hide = hidden_members(lambda group: detail(group, members=tuple(map(member, ids))))
    first, second = hide("billing"), hide("another")
    assert second is not None
    names = [each.member_id for each in first.members]
    assert len(set(names)) == len(ids)
    assert names == [each.member_id for each in second.members]
