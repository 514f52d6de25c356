"""Writes the chart's `values.schema.json`: `python -m deploy.chart.values_schema`; a test compares.

The defaults in `values.yaml` have the type of most values; the others are here. Closed: a value that no template reads
is refused with its path. Only what Kubernetes or Prometheus define themselves (affinity, relabelings and the like) is
left to them.
"""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.chart.config_schema import Schema, config_schema

CHART: Final = Path(__file__).resolve().parents[1] / "helm" / "lagwarden"
PATH: Final = CHART / "values.schema.json"

_TEXT: Final[Schema] = {"type": "string"}
_NAME: Final[Schema] = {"type": "string", "minLength": 1}
_TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECT: Final[Schema] = {"type": "object"}
_OBJECTS: Final[Schema] = {"type": "array", "items": {"type": "object"}}
_NAMES: Final[Schema] = {"type": "array", "items": _NAME, "uniqueItems": True}
_QUANTITY: Final[Schema] = {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$"}
# As Prometheus writes durations; empty where a default of its own stands in.
_INTERVAL: Final[Schema] = {"type": "string", "pattern": "^(([0-9]+(ms|[smhd]))+)?$"}
_DURATION: Final[Schema] = {**_INTERVAL, "minLength": 2}
_URL: Final[Schema] = {"type": "string", "pattern": "^(https?://.+)?$"}
_PATH: Final[Schema] = {"type": "string", "pattern": "^/"}
_TEXTS_BY_NAME: Final = ("annotations", "labels", "nodeselector")
"""The ends of the names of empty mappings that are names with texts; all others are defined by Kubernetes."""


def _closed(properties: dict[str, Schema], *required: str) -> Schema:
    extra: dict[str, Any] = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **extra, "properties": properties}


def _whole(minimum: int, maximum: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if maximum is None else {"maximum": maximum})


_REFERENCE: Final = _closed({"name": _NAME, "key": _NAME, "optional": {"const": False}}, "name", "key")
_CHANGES_OF_ALERT: Final = _closed(
    {
        "for": _DURATION,
        "keepFiringFor": _DURATION,
        "severity": {"enum": ["critical", "warning", "info"]},
        "labels": _TEXTS,
        "annotations": _TEXTS,
    }
)
_OTHERS: Final[dict[str, Schema]] = {
    "mode": {"enum": ["local", "cluster", "operator"]},
    "shards": _whole(1, 50),
    "config": config_schema(),
    # The values that a chart of charts gives to all of them; others are for other charts.
    "global": {"type": "object", "properties": {"imageRegistry": _TEXT, "imagePullSecrets": _OBJECTS}},
    "bootstrapServersFrom": _closed({"secretKeyRef": _REFERENCE, "configMapKeyRef": _REFERENCE}),
    # Kubernetes issues no shorter tokens.
    "credentials.oauth.serviceAccountToken.expirationSeconds": _whole(600),
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    # As Spark writes sizes, not as Kubernetes does.
    "executor.memoryOverhead": {"type": "string", "pattern": "^[0-9]+[kmgt]$"},
    "resources": _closed({"requests": _OBJECT, "limits": _OBJECT, "claims": _OBJECTS}),
    "podSecurityContext": _OBJECT,
    "securityContext": _OBJECT,
    "probes.startupSeconds": _whole(30),
    "probes.livenessSeconds": _whole(20),
    "probes.readinessPeriodSeconds": _whole(1),
    # Less than lagwarden's own limit would cut a good stop short, and the next start would read more again.
    "terminationGracePeriodSeconds": _whole(35),
    "revisionHistoryLimit": _whole(0),
    "persistence.size": _QUANTITY,
    "persistence.accessMode": {"enum": ["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"]},
    "persistence.whenDeleted": {"enum": ["Retain", "Delete"]},
    "objectStore.address": {"type": "string", "pattern": "^(s3a://[a-z0-9][a-z0-9.-]+/.+)?$"},
    "objectStore.endpoint": {"type": "string", "pattern": "^(https?://[^/]+/?)?$"},
    "objectStore.jars": _TEXT,
    "tmp.sizeLimit": _QUANTITY,
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "service.port": _whole(1, 65535),
    "httpRoute.hostnames": _NAMES,
    "httpRoute.path": _PATH,
    "ingress.path": _PATH,
    "extraObjects": {"type": "array", "items": {"type": ["object", "string"]}},
    "serviceMonitor.interval": _DURATION,
    "serviceMonitor.scrapeTimeout": _INTERVAL,
    "serviceMonitor.targetLabels": _NAMES,
    "serviceMonitor.podTargetLabels": _NAMES,
    "serviceMonitor.sampleLimit": _whole(0),
    "rules.profile": {"enum": ["start", "all"]},
    "rules.disabled": _NAMES,
    "rules.alerts": {"type": "object", "additionalProperties": _CHANGES_OF_ALERT},
    "rules.runbookUrl": _URL,
    "rules.grafanaUrl": _URL,
    "rules.pageUrl": {"type": "string", "pattern": "^(https?://[^?#,]+)?$"},
    "dashboards.labelValue": _TEXT,
}
"""The schemas that do not follow from the default, by the path of the value."""


def schema() -> Schema:
    """Return the schema of the chart's values."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the lagwarden chart",
        **_closed({name: _schema_of(name, value) for name, value in defaults.items()}),
    }


def _schema_of(path: str, default: Any) -> Schema:
    """Return the schema of a value by its path, else by its default. Raises ValueError for a number."""
    if path in _OTHERS:
        return _OTHERS[path]
    match default:
        case bool():
            return {"type": "boolean"}
        case str():
            return _NAME if default else _TEXT
        case list():
            return _OBJECTS
        case dict() if default:
            return _closed({name: _schema_of(f"{path}.{name}", value) for name, value in default.items()})
        case dict():
            return _TEXTS if path.lower().endswith(_TEXTS_BY_NAME) else _OBJECT
    raise ValueError(f"{path}: the limits of {default!r} are not known")


def text() -> str:
    """Return the text of the schema file."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
