"""Metrics under the names of other exporters, so that their dashboards and alert rules work with lagwarden.

One table per exporter: its names, labels and values, each read from a column that `snapshot_tables` or
`kafka_exporter` derives from the read model. `selection` lists the exporters and applies `metrics.compatibility`, and
`migration_pages` writes `docs/migration/`.
"""
