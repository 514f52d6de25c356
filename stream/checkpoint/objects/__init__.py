"""A checkpoint in an object store that speaks the protocol of Amazon S3: its client, its paths and its lock."""
