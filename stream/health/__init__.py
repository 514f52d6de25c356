"""Health: which groups make no progress, and why. Pure functions over columns; the only state is that of an evaluator.

**Inputs**, one `inputs.HealthInputs` per tick: `now` in ms (when the ends had been read), the rows (group, topic,
partition) sorted by these, their runs and slots in that order, the ends (`lag.PartitionEnds`, places numbered by
`HealthInputs.topics`), and one `inputs.GroupInputs` with a stage per group. All other columns are optional; the rules
that need a missing column match nothing:

| RowColumn | Source | Without it |
|---|---|---|
| `ends.last_stable` | the poll of the ends | no `held_back` |
| `ends.leader_epoch`, `origins` | metadata, the runs, topic ids | a commit above the end is only `beyond_end` |
| `subscribed`, `owner` | memberships | no `abandoned`, no `unassigned`; poison records only if one partition is stuck |
| `expiry` | `stream.groups.expiry.predict` | no `expiring` |
| `retention` | topic configs (`retention.ms`; -1 if compacted) | losses are forecast from the log start only |
| `aborts` | the driver state (`stream.groups.commits.tombstones`) | no `aborting` |
| `kept` | topic configs (`retention.ms`, `retention.bytes`) | a log start follows a group only if it equals a commit |
| `gapless` | topic configs (`cleanup.policy`) | no `skipped` |
| `clients`, `joined` | memberships of this tick and the one before | members are counted and not named |
| `tails` | a fetch of the tails that `TailState.wanted` marks | a marker at the end counts as lag 1 |
| `transactions` | `stream.cluster` | the blocking transaction has no name, and is not known to hang |
| `offsets_outage` | the poll of the offsets topic's ends | groups without a coordinator keep their last verdict |
| `reasons` | the poll of the ends | unknown lags have no reason but those of `offset_out_of_range` |
| `share_progress` | the last poll of the cluster | share groups have no verdict |
| `failed_replicas` | the last poll of the cluster | `no_leader` names no log directory |
| `checkpoint_topics` | the last poll of the cluster | no next step names `groups.mirrored` |

Rows without any commit (`inputs.NO_COMMIT` in `spans.last_offset`, -1 in its times) stand for partitions that belong to
a group and have never been committed; `never_committed` needs them.

**Calls.** There is one `evaluator.Evaluator` per process. `evaluate(inputs)` is called at every tick after the initial
catch-up; before the first tick, `start(inputs, (times, answers))` seeds the histories with the answers of ListOffsets
by timestamp. `pack()` returns bytes to store next to the checkpoint, and `Evaluator(packed=...)` continues from them.
Not thread-safe. `stream.tick.verdicts.evaluate` is the only caller.

**Outputs**, one `evaluator.EvaluationResult` per tick: the shown verdict of each row and since when it holds, the
verdict of each group, since when, and the number of rows that have it. `row_finding` and `group_finding` add sentence,
evidence and next step (`findings.Finding`), so the cost of sentences is paid only for findings that are read.
`EvaluationResult.window` has all numbers: lag, lost offsets, margin, time lag and whether it is exact, rates, time to
catch up, trend, patience. `time_lag.oldest_by_owner` aggregates ages by topic and group. Unknown is -1 in these columns
(NaN in rates), never 0; exporters turn it into null.

A rule is one file in `rules/` and one line in `RULES`. `features.window` describes the steps from the inputs to the
rules, `row_columns` what is kept between ticks; `packed_evaluation` has the evaluation from which findings of single
groups are read. Nothing here uses Spark, a clock or I/O.
"""
