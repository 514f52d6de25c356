"""The Arrow schemas of the tables about the monitor itself, which its status holds."""

from __future__ import annotations

from typing import Final

from exporters.catalogue import monitor, selection, service, verdicts

DEATHS: Final = monitor.DEATHS.schema
DECODE_ERRORS: Final = monitor.DECODE_ERRORS.schema
EXPIRY_CHECKS: Final = monitor.EXPIRY_CHECKS.schema
INTERNAL_ERRORS: Final = monitor.INTERNAL_ERRORS.schema
OFFSETS_HELD_BACK: Final = monitor.OFFSETS_HELD_BACK.schema
OFFSETS_PARTITIONS: Final = monitor.OFFSETS_PARTITIONS.schema
OFFSETS_SKIPPED: Final = monitor.OFFSETS_SKIPPED.schema
OFFSETS_UNAVAILABLE: Final = monitor.OFFSETS_UNAVAILABLE.schema
OFFSETS_UNAVAILABLE_GROUPS: Final = monitor.OFFSETS_UNAVAILABLE_GROUPS.schema
RECORDS_READ: Final = monitor.RECORDS_READ.schema
SERIES_DROPPED: Final = selection.SERIES_DROPPED.schema
DESCRIPTORS: Final = service.DESCRIPTORS.schema
FILE_FAILURES: Final = service.FILE_FAILURES.schema
HTTP_REFUSALS: Final = service.HTTP_REFUSALS.schema
OTLP_FAILURES: Final = service.OTLP_FAILURES.schema
PROCESSES: Final = service.PROCESSES.schema
WEBHOOK_DROPS: Final = service.WEBHOOK_DROPS.schema
WEBHOOK_FAILURES: Final = service.WEBHOOK_FAILURES.schema
UNREADABLE_TAILS: Final = verdicts.UNREADABLE_TAILS.schema
VERDICT_CHANGES: Final = verdicts.VERDICT_CHANGES.schema
