"""Rules about progress: partitions that stand still, fall behind, recover or keep up."""
