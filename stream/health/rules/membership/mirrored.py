"""Another program writes the offsets of the group (`groups.mirrored`), which has no members: nothing reads here."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def hint(window: Window, row: int) -> str:
    """Return what to do about a group that may be a copy, with a leading space; "" without a sign of that.

    Signs are topics in which MirrorMaker 2 writes checkpoints, together with a commit that no member has made.
    """
    topics, emptied = window.inputs.checkpoint_topics, int(window.inputs.groups.emptied[window.inputs.group[row]])
    has_no_member = window.stage[row] == GroupStage.OFFSETS_ONLY or 0 <= emptied < window.commit_time[row]
    if not topics or not has_no_member or window.members[row] > 0:
        return ""
    return f" If MirrorMaker 2 copies its offsets (see topic {topics[0]}), put it into groups.mirrored."


def _matches(window: Window) -> Flags:
    mirrored: Flags = window.stage == GroupStage.MIRRORED
    return mirrored


def _sentence(window: Window, row: int) -> str:
    waits = ""
    if window.known[row] and window.committed_offset[row] >= 0:
        lag, time = say.count(int(window.lag[row]), "offset"), say.moment(int(window.commit_time[row]))
        waits = f": no client waits for the {lag} after the last one, written {time}"
    return f"Another program writes the offsets of this group (groups.mirrored), and it has no members{waits}."


RULE = Rule(
    verdict=Verdict.MIRRORED,
    matches=_matches,
    sentence=_sentence,
    next_step="Nothing. With members the group is judged as any other. If consumers moved here, and nothing copies its"
    " offsets any more, take the group out of groups.mirrored.",
    evidence=("committed_offset", "commit_time", "lag", "members"),
    confirm=1,
)
