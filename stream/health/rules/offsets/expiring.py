"""The broker is about to expire an offset of the group."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    expiry = window.inputs.expiry
    if expiry is None:
        return no_rows(window)
    # At most a quarter of the offset's retention ahead: short retentions are for tests.
    most = (expiry - window.commit_time) // 4
    left = expiry - window.now
    matches: Flags = (expiry >= 0) & (left < window.limits.expiry_notice) & (left < most)
    return matches


def _sentence(window: Window, row: int) -> str:
    expiry = window.inputs.expiry
    at = 0 if expiry is None else int(expiry[row])
    when = f"in {say.duration(at - window.now)}" if at > window.now else "at its next check"
    return f"The broker expires this offset {when} ({say.moment(at)}); the group would then start by auto.offset.reset."


RULE = Rule(
    verdict=Verdict.EXPIRING,
    matches=_matches,
    sentence=_sentence,
    next_step="Start the group, or commit the offset again; if the group is not needed any more, delete it.",
    evidence=("offset_expiry_time", "commit_time", "committed_offset", "members", "lag"),
    confirm=1,
    is_reported_beside=True,
)
