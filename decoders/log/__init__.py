"""Reads Kafka's log from disk and from fetch responses, as batches, records and columns.

This is the only part of `decoders` that reads files. Keys and values of records are left to the other modules of
`decoders`. The modules:

- `errors`: faults. `codecs`: decompression under a limit
- `batch` (magic 2) and `legacy` (magic 0 and 1): batches and their records. `control`: markers of transactions
- `files`: opens files safely. `segment`: one `.log` file. `partition`: a whole partition directory, read in order
- `columns`: batches as columns, with `vectors` and `zstd_many`. `fetched`: the batches of a fetch response, as columns;
  only these modules use Arrow or numpy
- `dump`: the output of the official dump tool
"""
