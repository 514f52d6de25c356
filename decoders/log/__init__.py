"""Kafka's log as it lies on disk: segments, indexes, state files and KRaft snapshots -> batches, records, columns.

Bytes come in through files only here; what the keys and values of records mean is the business of the other `decoders`
modules. A map of the files:

- `errors` the faults; `codecs` decompression under a limit, by `blockwalk` for two of them
- `batch` (magic 2) and `legacy` (magic 0, 1) batches and their records; `control` what stands in control batches
- `segment` one `.log` file, `frames` what a walk over it gives; `index` its three indexes; `lookup` from an offset or
  a time to a batch
- `directory` which files of a partition directory count; `state_files` the small files beside them
- `transactions` which transactional batches count; `partition` a whole directory, read in order
- `columns` a partition as Arrow columns, through `vectors` and `zstd_many`: the only modules that know Arrow or numpy
- `checkpoint` KRaft snapshots
- `dumptext`, `dumpindex`, `dumpdecoders`: the official dump tool's text
"""
