"""The state of the list of groups: order, filter, selection and scrolling."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from stream.cli.top.view import GroupListState, select_row, set_filter, show_selection
from tests.stream.cli.top.api_answers import groups_of, healthy_groups
from tests.support.hypothesis_profiles import examples

HEIGHT = 5


def typed(state: GroupListState, words: str) -> GroupListState:
    for character in words:
        state = set_filter(state, state.filter + character)
    return show_selection(state, HEIGHT)


def test_every_character_narrows_the_list() -> None:
    """Part of a name in any case or of a verdict matches. The first match is selected; an erased character widens."""
    for words, *names in (
        ("BILL", "billing"),
        ("stopped", "billing"),
        ("caught up", 'say "hi"\\\nthere'),
        ("nothing",),
    ):
        state = typed(GroupListState(groups_of()), words)
        assert [group["group"] for group in state.rows] == names
        assert state.selected == (names[0] if names else None)
        assert set_filter(state, "").rows == groups_of()
        for _ in words:
            assert state.is_typing
            state = set_filter(state, state.filter[:-1])
        assert (len(state.rows), state.is_typing) == (4, False)


def test_filter_may_begin_with_a_command() -> None:
    """A new filter is empty and accepts every character, also one that is a command."""
    state = set_filter(GroupListState(groups_of()), "", is_typing=True)
    assert (state.filter, state.is_typing) == ("", True)


@examples(60)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["", "g", "g1", "g01", "q"]).map(lambda words: lambda state: set_filter(state, words)),
            st.integers(-3, 30).map(lambda row: lambda state: select_row(state, row, 4)),
        ),
        max_size=30,
    ),
    st.integers(1, 9),
    st.integers(0, 25),
)
def test_selection_is_valid_after_any_changes(
    changes: list[Callable[[GroupListState], GroupListState]], height: int, number: int
) -> None:
    """Law: after any changes the selected group is one of the rows and in the window."""
    state = show_selection(healthy_groups(number), height)
    for change in changes:
        state = show_selection(change(state), height)
    if state.rows:
        assert 0 <= state.selected_row - state.first_row < height
        assert state.selected in {group["group"] for group in state.rows}
    else:
        assert state.selected is None
