"""The rules of CONTRIBUTING.md for docstrings and log events that a word list cannot express."""

import re
from typing import Final

from tests.architecture.sources import BESIDE, PRODUCT, TREES, files, source

VAGUE_VERBS: Final = frozenset(
    {"Give", "Gives", "Tell", "Tells", "Say", "Says", "Let", "Hand", "Bring", "Draw", "Take"}
)
"""First words that hide what a function does, for example that it returns, formats or adds something."""
QUESTIONS: Final = frozenset({"What", "Whether", "How", "Where", "Who", "Which"})
"""First words of a function's docstring that leave out its verb."""
MOST_WORDS_OF_AN_EVENT: Final = 14


def test_no_docstring_begins_with_a_vague_verb_or_a_question_word() -> None:
    """No docstring begins with a verb that hides the action, such as "Give".

    Outside of the tests no function's docstring begins with a question word, such as "Whether". A property may begin
    with a noun.
    """
    wrong = []
    for path in files(*TREES):
        asks = QUESTIONS if path.parts[0] in {*PRODUCT, *BESIDE} else frozenset()
        for place, word, of_class in source(path).docstrings:
            if word in VAGUE_VERBS or (word in asks and not of_class):
                wrong.append(f"{place}: {word}")
    assert wrong == []


def test_each_test_has_a_docstring() -> None:
    """A test states what must be true; the linter does not ask for it, because it does not tell tests from helpers."""
    assert [place for path in files("tests") for place in source(path).bare_tests] == []


def test_log_events_are_short_and_begin_in_lower_case() -> None:
    """A log event of `stream` has at most 14 words, begins in lower case and has no full stop."""
    events = [event for path in files("stream") for event in source(path).log_events]
    wrong = [
        f"{place} {text}"
        for place, text in events
        if len(text.split()) > MOST_WORDS_OF_AN_EVENT or re.match(r"[A-Z][a-z]", text) or text.endswith(".")
    ]
    assert wrong == []
    assert len(events) > 50
