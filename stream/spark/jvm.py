"""Connects PySpark to the JVM of `stream.spark.jvm_process`."""

import os
import pwd
import threading
from typing import Any, Final

import structlog
from pyspark import accumulators
from pyspark.java_gateway import launch_gateway

from stream.spark.jvm_process import JvmProcess

_log = structlog.get_logger(__name__)
_environment: Final = threading.Lock()

LOGIN_NAME: Final = "lagwarden"


def connect(jvm: JvmProcess) -> Any:
    """Return py4j's gateway to this JVM, when it accepts connections. Raises JvmStartError.

    PySpark takes port and secret of a running JVM from the environment, where nothing else needs them.
    """
    port, secret = jvm.connection()
    variables = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    with _environment:
        os.environ.update(variables)
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            for name in variables:
                del os.environ[name]
    gateway.proc = jvm.process
    return gateway


def hush_accumulators() -> None:
    """Make PySpark's accumulator servers log the end of a JVM, instead of printing a traceback."""

    def handle_error(_server: object, _request: object, _address: object) -> None:
        _log.debug("accumulator connection ended", exc_info=True)

    # Over TCP, and over a Unix socket where the system has them.
    for name in ("AccumulatorTCPServer", "AccumulatorUnixServer"):
        server = getattr(accumulators, name, None)
        if server is not None:
            server.handle_error = handle_error


def skip_installed_data_sources(jvm: Any) -> None:
    """Make Spark not look for data sources among the installed Python packages.

    The lookup starts a Python process at the first query, and lagwarden registers its only data source itself. The
    field is that of Spark's DataSourceManager, which is a Scala object.
    """
    # The names of Scala's objects and setters are no Python names.
    manager = getattr(getattr(jvm, "org.apache.spark.sql.execution.datasources.DataSourceManager$"), "MODULE$")
    none_installed = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    getattr(manager, "dataSourceBuilders_$eq")(jvm.scala.Option.apply(none_installed))


def set_login_user(jvm: Any) -> None:
    """Log Hadoop in as `lagwarden` if the user id of this process has no account; `jvm` is PySpark's view of the JVM.

    Spark asks Hadoop for its user, and Hadoop asks the operating system, where a user id without an account is an
    error (`UnixLoginModule`). OpenShift runs each namespace with a user id of its own, which no image can know.
    """
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        user_group_information = jvm.org.apache.hadoop.security.UserGroupInformation
        user_group_information.setLoginUser(user_group_information.createRemoteUser(LOGIN_NAME))
