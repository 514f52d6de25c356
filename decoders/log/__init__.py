"""Kafka's log as it lies on disk: segments, indexes, state files and KRaft snapshots -> batches, records, columns.

Bytes come in through files only here; what the keys and values of records mean is the business of the other `decoders`
modules. A map of the files:

- `errors` the faults; `codecs` decompression under a limit; `batch` (magic 2) and `legacy` (magic 0, 1) the frames;
  `control` what stands in control batches
- `segment` one `.log` file; `index` its three indexes; `lookup` from an offset or a time to a batch
- `directory` which files of a partition directory count; `state_files` the small files beside them
- `transactions` which transactional batches count; `columns` records -> Arrow, fast; `partition` a whole directory
- `checkpoint` KRaft snapshots; `dumptext` the official dump tool's text
"""
