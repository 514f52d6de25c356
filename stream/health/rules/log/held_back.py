"""A group that reads committed records only has read up to an open transaction that does not end."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    return window.stuck & window.before_transaction


def _sentence(window: Window, row: int) -> str:
    place = (int(window.inputs.topic[row]), int(window.inputs.partition[row]))
    transaction = window.inputs.transactions.get(place)
    known_since = None if transaction is None else transaction.since
    since = int(window.stable_since[row]) if known_since is None else known_since
    cause = "an open transaction"
    if transaction is not None:
        name = f" ({transaction.transactional_id})" if transaction.transactional_id else ""
        state = "hanging" if transaction.hanging else "open"
        cause = f"the {state} transaction of producer {transaction.producer_id}{name}"
    offset = int(window.ends.last_stable[row])
    return f"Blocked at offset {offset:,} by {cause} since {say.moment(since)}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.HELD_BACK,
    matches=_matches,
    sentence=_sentence,
    verb="is",
    next_step="End the producer's transaction; one that hangs is aborted with kafka-transactions.sh abort.",
    evidence=("last_stable_offset", "high_watermark", "committed_offset", "stable_since", "transaction", "time_lag"),
    confirm=1,
    is_reported_beside=True,
)
