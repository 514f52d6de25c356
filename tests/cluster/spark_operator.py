"""The Apache Spark Kubernetes operator's definition of a SparkApplication, and the pod that it makes for the driver.

The definition has those fields of `spark.apache.org/v1` (release 1.0) that matter for a driver. As in the operator's
definition, the template of the pod has every field of a pod, here by the schema of the API server.
The pod is built by Spark's KubernetesDriverBuilder from settings and template, as the operator does.
"""

import json
from pathlib import Path
from typing import Any, Final

from sandbox.kubernetes.control_plane import ControlPlane
from stream.spark.jvm import connect
from stream.spark.jvm_process import JvmOptions, JvmProcess
from tests.chart.rendering import Object

KIND: Final = ("spark.apache.org/v1", "SparkApplication")
_TEXT: Final[Object] = {"type": "string"}
_TEXTS: Final[Object] = {"type": "object", "additionalProperties": _TEXT}
_WHOLE: Final[Object] = {"type": "integer"}
# The keywords of an OpenAPI schema that a CustomResourceDefinition may have, without those that are rewritten here.
_KEPT: Final = ("type", "required", "enum", "nullable", "minimum", "maximum")


def _fields(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def _whole_numbers(*names: str) -> Object:
    return dict.fromkeys(names, _WHOLE)


def definition(cluster: ControlPlane) -> Object:
    documents = cluster.request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    pod = _structural({"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}, documents)
    restart = _fields(
        **_whole_numbers("maxRestartAttempts", "restartBackoffMillis", "restartCounterResetMillis"),
        restartPolicy={"type": "string", "enum": ["Always", "Never", "OnFailure", "OnInfrastructureFailure"]},
    )
    timeouts = _fields(
        **_whole_numbers("driverStartTimeoutMillis", "driverReadyTimeoutMillis", "executorStartTimeoutMillis"),
        **_whole_numbers("forceTerminationGracePeriodMillis", "terminationRequeuePeriodMillis"),
    )
    spec = _fields(
        mainClass=_TEXT,
        pyFiles=_TEXT,
        driverArgs={"type": "array", "items": _TEXT},
        sparkConf=_TEXTS,
        runtimeVersions={**_fields(sparkVersion=_TEXT), "required": ["sparkVersion"]},
        applicationTolerations=_fields(restartConfig=restart, applicationTimeoutConfig=timeouts),
        driverSpec=_fields(podTemplateSpec=pod),
        executorSpec=_fields(podTemplateSpec=pod),
    )
    schema = _fields(spec={**spec, "required": ["runtimeVersions"]})
    group, _, version = KIND[0].partition("/")
    names = {"kind": KIND[1], "plural": "sparkapplications", "singular": "sparkapplication"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _structural(schema: Object, documents: Object) -> Object:
    """Return a schema of the API server as a CustomResourceDefinition may have it: without references and choices."""
    for part in schema.get("allOf", ()):
        schema = {**schema, **part}
    if "$ref" in schema:
        return _structural(documents[schema["$ref"].rpartition("/")[2]], documents)
    if "oneOf" in schema:
        # A quantity, or a port by number or name.
        return {"x-kubernetes-int-or-string": True}
    found = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in schema:
        found["properties"] = {name: _structural(part, documents) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = _structural(schema[key], documents)
    if found.get("type") == "object" and not found.keys() & {"properties", "additionalProperties"}:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


def driver_pod(application: Object, folder: Path) -> Object:
    """Return the pod of the driver of a SparkApplication. `folder` receives its template.

    This starts a JVM without an API server: Spark's client reads the template without one.
    """
    jvm = JvmProcess.start(JvmOptions("512m"))
    gateway = connect(jvm)
    try:
        pod: Object = json.loads(_built(gateway, application, folder))
    finally:
        gateway.shutdown()
        jvm.kill()
    return pod


def _built(gateway: Any, application: Object, folder: Path) -> str:
    java, spec = gateway.jvm, application["spec"]
    template = folder / "template.json"
    template.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **spec["driverSpec"]["podTemplateSpec"]}))
    name = f"{application['metadata']['name']}-0"
    settings = {
        **spec["sparkConf"],
        "spark.kubernetes.namespace": application["metadata"]["namespace"],
        "spark.kubernetes.driver.podTemplateFile": str(template),
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.app.id": name,
    }
    conf = java.org.apache.spark.SparkConf(False)
    for key, value in settings.items():
        conf.set(key, value)
    submit = java.org.apache.spark.deploy.k8s.submit
    driver = java.org.apache.spark.deploy.k8s.KubernetesDriverConf(
        conf,
        name,
        submit.PythonMainAppResource(spec["pyFiles"]),
        spec["mainClass"],
        gateway.new_array(java.java.lang.String, 0),
        java.scala.Option.empty(),
        java.org.apache.spark.util.SystemClock(),
    )
    client = java.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()
    try:
        built = submit.KubernetesDriverBuilder().buildFromFeatures(driver, client)
    finally:
        client.close()
    pod = java.io.fabric8.kubernetes.api.model.PodBuilder(built.pod().pod())
    whole = pod.editSpec().addToContainers(_array_of(gateway, built.pod().container())).endSpec().build()
    return str(java.io.fabric8.kubernetes.client.utils.Serialization.asJson(whole))


def _array_of(gateway: Any, container: Any) -> Any:
    array = gateway.new_array(gateway.jvm.io.fabric8.kubernetes.api.model.Container, 1)
    array[0] = container
    return array
