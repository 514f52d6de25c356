"""Writes the chart's `values.schema.json`: `python -m deploy.chart.values_schema`; a test compares.

Closed: a value that no template reads is refused with its path. Only what Kubernetes or Prometheus define themselves
(affinity, relabelings and the like) is left to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from deploy.chart.config_schema import Schema, config_schema

CHART: Final = Path(__file__).resolve().parents[1] / "helm" / "lagwarden"
PATH: Final = CHART / "values.schema.json"

_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
_TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECT: Final[Schema] = {"type": "object"}
_OBJECTS: Final[Schema] = {"type": "array", "items": {"type": "object"}}
_NAMES: Final[Schema] = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}
_QUANTITY: Final[Schema] = {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$"}
# As Prometheus writes durations; empty where a default of its own stands in.
_INTERVAL: Final[Schema] = {"type": "string", "pattern": "^(([0-9]+(ms|[smhd]))+)?$"}
_DURATION: Final[Schema] = {**_INTERVAL, "minLength": 2}
_URL: Final[Schema] = {"type": "string", "pattern": "^(https?://.+)?$"}
_CHANGES_OF_ALERT: Final[dict[str, Schema]] = {
    "for": _DURATION,
    "keepFiringFor": _DURATION,
    "severity": {"enum": ["critical", "warning", "info"]},
    "labels": _TEXTS,
    "annotations": _TEXTS,
}
_PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}


def schema() -> Schema:
    """Return the schema of the chart's values."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the lagwarden chart",
        **_closed(
            {
                "global": _global(),
                "mode": {"enum": ["local", "cluster", "operator"]},
                "config": config_schema(),
                **_names(),
                **_kafka(),
            }
            | {"shards": _whole(1, 50), "http": _http(), **_pod(), **_storage(), **_objects(), **_monitoring()}
        ),
    }


def text() -> str:
    """Return the text of the schema file."""
    return json.dumps(schema(), indent=2) + "\n"


def _closed(properties: dict[str, Schema], *required: str) -> Schema:
    extra: dict[str, Any] = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **extra, "properties": properties}


def _whole(minimum: int, maximum: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if maximum is None else {"maximum": maximum})


def _names() -> dict[str, Schema]:
    return {"nameOverride": _TEXT, "fullnameOverride": _TEXT, "commonLabels": _TEXTS}


def _global() -> Schema:
    """Return the schema of the values that a chart of charts gives to all of them; others are for other charts."""
    return {"type": "object", "properties": {"imageRegistry": _TEXT, "imagePullSecrets": _OBJECTS}}


def _kafka() -> dict[str, Schema]:
    key: Schema = {"type": "string", "minLength": 1}
    authorities = _closed({"existingSecret": _TEXT, "existingConfigMap": _TEXT, "key": key})
    certificate = {"existingSecret": _TEXT, "certificateKey": key, "privateKeyKey": key}
    reference = _closed({"name": key, "key": key, "optional": {"const": False}}, "name", "key")
    return {
        "bootstrapServersFrom": _closed({"secretKeyRef": reference, "configMapKeyRef": reference}),
        "credentials": _closed(
            {
                "sasl": _closed({"existingSecret": _TEXT, "usernameKey": _TEXT, "passwordKey": key}),
                "oauth": _closed(
                    {
                        "existingSecret": _TEXT,
                        "clientIdKey": _TEXT,
                        "clientSecretKey": key,
                        "caKey": _TEXT,
                        # Kubernetes issues no shorter tokens.
                        "serviceAccountToken": _closed({"audience": _TEXT, "expirationSeconds": _whole(600)}),
                    }
                ),
                "ca": authorities,
                "client": _closed({**certificate, "passwordKey": _TEXT}),
                "otlp": _closed(
                    {
                        "headers": _closed({"existingSecret": _TEXT, "key": key}),
                        "ca": authorities,
                        "client": _closed(certificate),
                    }
                ),
            }
        ),
    }


def _http() -> Schema:
    key: Schema = {"type": "string", "minLength": 1}
    certificate = {"existingSecret": _TEXT, "certificateKey": key, "privateKeyKey": key, "caKey": _TEXT}
    return _closed(
        {
            "webConfig": _closed({"existingSecret": _TEXT, "key": key, "tls": _FLAG}),
            "certificate": _closed(certificate),
            "bearerToken": _closed({"existingSecret": _TEXT, "key": key}),
        }
    )


def _pod() -> dict[str, Schema]:
    return {
        "image": _closed(
            {
                "repository": _TEXT,
                "tag": _TEXT,
                "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
            }
        ),
        "imagePullSecrets": _OBJECTS,
        "executor": _closed(
            {
                # As Spark writes sizes, not as Kubernetes does.
                "memoryOverhead": {"type": "string", "pattern": "^[0-9]+[kmgt]$"},
                "podLabels": _TEXTS,
                "podAnnotations": _TEXTS,
                "nodeSelector": _TEXTS,
                "tolerations": _OBJECTS,
                "affinity": _OBJECT,
                "topologySpreadConstraints": _OBJECTS,
                "priorityClassName": _TEXT,
            }
        ),
        "resources": _closed({"requests": _OBJECT, "limits": _OBJECT, "claims": _OBJECTS}),
        "podSecurityContext": _OBJECT,
        "securityContext": _OBJECT,
        "probes": _closed(
            {"startupSeconds": _whole(30), "livenessSeconds": _whole(20), "readinessPeriodSeconds": _whole(1)}
        ),
        # Less than lagwarden's own limit would cut a good stop short, and the next start would read more again.
        "terminationGracePeriodSeconds": _whole(35),
        "revisionHistoryLimit": _whole(0),
        "annotations": _TEXTS,
        "podAnnotations": _TEXTS,
        "podLabels": _TEXTS,
        "nodeSelector": _TEXTS,
        "tolerations": _OBJECTS,
        "affinity": _OBJECT,
        "topologySpreadConstraints": _OBJECTS,
        "priorityClassName": _TEXT,
        "dnsConfig": _OBJECT,
        "schedulerName": _TEXT,
        "runtimeClassName": _TEXT,
        "hostAliases": _OBJECTS,
        "initContainers": _OBJECTS,
        "extraContainers": _OBJECTS,
        "extraEnv": _OBJECTS,
        "extraEnvFrom": _OBJECTS,
        "extraVolumes": _OBJECTS,
        "extraVolumeMounts": _OBJECTS,
    }


def _storage() -> dict[str, Schema]:
    return {
        "persistence": _closed(
            {
                "enabled": _FLAG,
                "size": _QUANTITY,
                "storageClass": _TEXT,
                "existingClaim": _TEXT,
                "accessMode": {"enum": ["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"]},
                "annotations": _TEXTS,
                "whenDeleted": {"enum": ["Retain", "Delete"]},
            }
        ),
        "objectStore": _closed(
            {
                "address": {"type": "string", "pattern": "^(s3a://[a-z0-9][a-z0-9.-]+/.+)?$"},
                "endpoint": {"type": "string", "pattern": "^(https?://[^/]+/?)?$"},
                "region": _TEXT,
                "jars": _TEXT,
            }
        ),
        "tmp": _closed({"sizeLimit": _QUANTITY}),
    }


def _objects() -> dict[str, Schema]:
    return {
        "service": _closed(
            {
                "type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
                "port": _PORT,
                "annotations": _TEXTS,
                "labels": _TEXTS,
            }
        ),
        "httpRoute": _closed(
            {
                "enabled": _FLAG,
                "annotations": _TEXTS,
                "parentRefs": _OBJECTS,
                "hostnames": _NAMES,
                "path": {"type": "string", "pattern": "^/"},
            }
        ),
        "ingress": _closed(
            {
                "enabled": _FLAG,
                "className": _TEXT,
                "annotations": _TEXTS,
                "host": _TEXT,
                "path": {"type": "string", "pattern": "^/"},
                "tlsSecret": _TEXT,
            }
        ),
        "podDisruptionBudget": _closed({"enabled": _FLAG}),
        "serviceAccount": _closed({"create": _FLAG, "name": _TEXT, "annotations": _TEXTS}),
        "networkPolicy": _closed(
            {"enabled": _FLAG, "from": _OBJECTS, "egress": _closed({"enabled": _FLAG, "rules": _OBJECTS})}
        ),
        "extraObjects": {"type": "array", "items": {"type": ["object", "string"]}},
    }


def _monitoring() -> dict[str, Schema]:
    common = {"enabled": _FLAG, "namespace": _TEXT, "labels": _TEXTS, "annotations": _TEXTS}
    return {
        "serviceMonitor": _closed(
            {
                **common,
                "interval": _DURATION,
                "scrapeTimeout": _INTERVAL,
                "honorLabels": _FLAG,
                "targetLabels": _NAMES,
                "podTargetLabels": _NAMES,
                "sampleLimit": _whole(0),
                "tlsConfig": _OBJECT,
                "basicAuth": _OBJECT,
                "authorization": _OBJECT,
                "stableInstance": _FLAG,
                "relabelings": _OBJECTS,
                "metricRelabelings": _OBJECTS,
            }
        ),
        "rules": _closed(
            {
                **common,
                "profile": {"enum": ["start", "all"]},
                "inhibitions": _FLAG,
                "disabled": _NAMES,
                "alertLabels": _TEXTS,
                "alerts": {"type": "object", "additionalProperties": _closed(_CHANGES_OF_ALERT)},
                "runbookUrl": _URL,
                "grafanaUrl": _URL,
                "pageUrl": {"type": "string", "pattern": "^(https?://[^?#,]+)?$"},
            }
        ),
        "dashboards": _closed({**common, "label": {"type": "string", "minLength": 1}, "labelValue": _TEXT}),
    }


if __name__ == "__main__":
    PATH.write_text(text())
