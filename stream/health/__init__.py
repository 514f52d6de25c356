"""Health: which groups are stuck, and why. Pure functions over whole columns of (state, ends, now).

**What comes in**, once per tick, is one `observed.Observed`: `now` in ms (when the ends had been read), the rows
(group, topic, partition) sorted by these, the runs and slots of the fleet in that order, the ends (`lag.Ends`, places
numbered by `Observed.topics`), and one `observed.Groups` with a stage per group. The rest is optional; a rule whose
column is missing stays silent:

| Column | Asked from | Without it |
|---|---|---|
| `ends.last_stable` | the poll of the ends | no `held_back` |
| `ends.leader_epoch`, `origins` | metadata, the runs, topic ids | a commit above the end is only `beyond_end` |
| `subscribed`, `owner` | memberships | no `abandoned`, no `unassigned`; poison records only if one partition is stuck |
| `expiry` | `stream.groups.expiry.predict` | no `expiring` |
| `retention` | topic configs (`retention.ms`; -1 if compacted) | loss foretold only from the log start's own pace |
| `tails` | a fetch of the tails that `TailState.wanted` marks | a marker at the end reads as lag 1 |
| `transactions` | `stream.cluster` | a transaction that holds back has no name |
| `reasons` | the poll of the ends | unknown lags have no reason but those of `beyond` |

Rows without any commit (`observed.NO_COMMIT` in `spans.last_offset`, -1 in its times) may be among them, for partitions
that belong to a group and have never been committed: they are how `never_committed` is found.

**Who calls what.** One `judge.Judge` per process. `Judge.judge(observed)` at every tick, from the first one after the
initial catch-up on; before the first, `Judge.begin(observed, (times, answers))` puts what offsets-for-times answer in
front of the histories. `Judge.pack()` gives bytes to keep beside the checkpoint; `Judge(packed=...)` carries on from
them. Not thread-safe. `stream.tick.verdicts.evaluate` is the one caller.

**What goes out** is one `opinion.Opinion` (`judge.Judged`): per row the verdict shown and since when, per group the
verdict, since when, and how many rows have it; `of_row` and `of_group` put one into words (`opinion.Finding`: sentence,
evidence, next step), so sentences cost only what is looked at. `Opinion.window` has every number on the way: lag, what
is lost, margin, time lag and whether it is exact, rates, time to catch up, trend, patience. `timelag.worst` adds ages
up to topics and groups. Unknown is -1 in these columns (NaN in rates), never 0; who exports them makes nulls of it.

**Inside**, in the order of a tick: `memory` (`history`, `numbering`) learns the ends; `windows` joins them with what
the group did (`lag`, `beyond`, `tails`, `timelag`, `cadence`, `trend`, `loss`); `rules` find, in their order;
`hysteresis` decides what is shown; `verdict` adds partitions up to groups. A rule is one file in `rules/`, and one line
in `RULES`. `burrow` is another monitor's whole rule set, which `burrow_judge` puts in the place of all this: same rows,
same window, its own words. Nothing here knows Spark, a clock, or I/O.
"""
