"""Commits and memberships hidden behind open transactions on `__consumer_offsets`, read from the log.

*Theory of operation.* A reader of committed records stops at the last stable offset, and one open transaction keeps
that in place for all groups of its offsets partition. Everything behind it but the commits of open transactions is
final, so a tick reads it itself, shows it, and keeps it until the job has read it:

| Step | Module | Result |
|---|---|---|
| which partitions are blocked, since when, by whom | `groups` | `BlockedOffsetsPartition`, logged once |
| read behind the last stable offset, a part per tick | `groups` (`cluster.hidden_records`) | records |
| fold them as the job will fold them | `tail` | runs, tombstones, newest membership records |
| add commits to the rows of the log | `overlay` | rows, and which of them are hidden |
| apply memberships and deletions | `group_states` | groups as they are behind the transaction |

The result is `overlay.HiddenCommits`. It does not change the driver state, and positions decide: what the job has read
since adds nothing. Groups of partitions that were not read to the end are `unread_groups`; for them nothing is decided.
"""
