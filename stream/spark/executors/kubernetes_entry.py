"""The command of a container that Spark starts as an executor on Kubernetes.

Spark runs the image with the argument `executor` and passes everything else in variables: the contract between
`BasicExecutorFeatureStep` and `entrypoint.sh` of Spark's own images. lagwarden's image has PySpark's jars and no such
script, so the command `lagwarden executor` takes its place.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from stream.errors import ExitCode, Refusal
from stream.spark.java import class_path, find_java

_MAIN_CLASS: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION: Final = re.compile(r"SPARK_JAVA_OPT_(\d+)")
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_MEMORY: Final = "SPARK_EXECUTOR_MEMORY"
_VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
"""Left out: only Spark's machine learning uses the module, and a trimmed runtime does not start without it."""


def executor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command line of the executor. Raises Refusal outside of a container that Spark started."""
    missing = [name for name in (*_ARGUMENTS.values(), _MEMORY) if name not in environment]
    if missing:
        raise Refusal(
            f"this is no container of an executor: {', '.join(missing)} not set",
            "Spark runs this command on Kubernetes (docs/cluster.md)",
            ExitCode.USAGE,
        )
    java = find_java()
    if java is None:
        raise Refusal(
            "no java on PATH or in JAVA_HOME", "use an image with Java 17 or later", ExitCode.SPARK_UNAVAILABLE
        )
    numbered = ((match, value) for name, value in environment.items() if (match := _OPTION.fullmatch(name)))
    options = [value for _, value in sorted(numbered, key=lambda each: int(each[0][1])) if value != _VECTOR_MODULE]
    memory = environment[_MEMORY]
    folder = environment.get("SPARK_CONF_DIR")
    paths = [*([folder] if folder else []), *class_path(), *filter(None, [environment.get("SPARK_CLASSPATH")])]
    arguments = [word for name, variable in _ARGUMENTS.items() for word in (name, environment[variable])]
    heap = (f"-Xms{memory}", f"-Xmx{memory}")
    return [str(java), *options, *heap, "-cp", os.pathsep.join(paths), _MAIN_CLASS, *arguments]
