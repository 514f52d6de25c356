"""The parts of kafka-python that `stream.cluster.transport` replaces or uses although they are not documented.

kafka-python may change them in any minor version. Then a correction would silently stop working, so
`pyproject.toml` has an upper bound for kafka-python. Raise the bound only if these tests and those of this folder pass
with the new version.
"""

import inspect
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.struct import StructField

from stream.cluster.transport import corrections, exchange
from stream.cluster.transport.corrections import current_credentials, decoder_threads

ROOT = Path(__file__).resolve().parents[4]
LIBRARY = Path(inspect.getfile(KafkaConnection)).parents[1]
REPLACED: dict[type, tuple[type, dict[str, list[str]]]] = {
    KafkaTCPTransport: (exchange._PlainTransport, {"_read_from_sock": ["self"]}),
    KafkaSSLTransport: (exchange._TlsTransport, {"_read_from_sock": ["self"]}),
    KafkaConnection: (current_credentials.Connection, {"_sasl_authenticate": ["self", "timeout_at"]}),
    KafkaConnectionManager: (
        exchange.Connections,
        {
            "get_connection": ["self", "node_id"],
            "_connect": ["self", "node", "conn"],
            "_build_transport": ["self", "node", "timeout_at"],
        },
    ),
}
"""By class of the library: our class, and the methods that it replaces, with the arguments that both have."""
CALLED = {
    KafkaTCPTransport: {"_sock_recv": ["self"], "abort": ["self", "error"]},
    KafkaConnection: {
        "_send_request": ["self", "request", "future", "timeout_at"],
        "_timeout_at": ["self", "now", "timeout_ms"],
        "connection_lost": ["self", "exc"],
    },
    KafkaConnectionManager: {
        "connection_delay": ["self", "node_id"],
        "update_backoff": ["self", "node_id"],
        "socket_connection_setup_timeout_ms": ["self", "node_id"],
        "_connect": ["self", "node", "conn", "reset_backoff_on_connect", "timeout_at"],
    },
}
"""The methods of the library that our classes call, with all their arguments."""
READ = {
    KafkaTCPTransport: {"_net", "_sock", "_closed", "_read", "_protocol", "last_read"},
    KafkaConnection: {"net", "_reauth", "_close_future", "_init_future"},
    KafkaConnectionManager: {"_net", "_conns", "cluster", "config", "broker_version_data"},
    NetworkSelector: {"_io_thread"},
}
"""The attributes that our classes read, which the constructor of the library's class sets."""


def arguments(method: Any) -> list[str]:
    return list(inspect.signature(method).parameters)


def test_the_replaced_methods_exist_with_their_arguments() -> None:
    """Each replaced method exists in the library and in our class, with the listed arguments; the list is complete.

    A further method or attribute of the library that one of our classes replaces must be added to this test.
    """
    for theirs, (ours, methods) in REPLACED.items():
        for name, given in methods.items():
            for of in (theirs, ours):
                assert arguments(getattr(of, name))[: len(given)] == given
        added = {name for of in ours.__mro__ if of.__module__.startswith("stream.cluster") for name in vars(of)}
        assert {name for name in added if not name.startswith("__") and hasattr(theirs, name)} == set(methods)


def test_the_called_methods_and_the_attributes_that_are_read_exist() -> None:
    """The arguments include `timeout_at`, without which a login has no time limit; constructors set the attributes."""
    found = {theirs: {name: arguments(getattr(theirs, name)) for name in names} for theirs, names in CALLED.items()}
    assert found == CALLED
    assert [theirs for theirs, names in READ.items() if names - set(theirs.__init__.__code__.co_names)] == []


def test_the_decoders_of_the_library_are_compiled_by_one_thread_at_a_time() -> None:
    """The library calls the replaced method, which calls its own one with the same arguments."""
    decoder_threads.install()
    assert StructField.compiled_decode_from is decoder_threads.decoder
    assert arguments(decoder_threads._decoder_of_library) == ["self", "version", "compact", "tagged", "data_class"]
    assert "compiled_decode_from" in ApiMessage.decode.__code__.co_names


def test_the_library_still_needs_each_correction(tmp_path: Path) -> None:
    """Each correction has a patch in docs/upstream, and it applies to the library.

    A patch that does not apply any more: kafka-python has changed there. Delete the correction if its symptom is gone.
    """
    patches = {path.stem: path for path in (ROOT / "docs/upstream").glob("*.patch")}
    assert patches.keys() == {path.stem for path in Path(*corrections.__path__).glob("[a-z]*.py")}
    for name, patch in patches.items():
        for changed in re.findall(r"^--- a/kafka/(.+)$", patch.read_text(), re.MULTILINE):
            copy = tmp_path / name / "kafka" / changed
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((LIBRARY / changed).read_bytes())
        done = subprocess.run(["git", "apply", patch], cwd=tmp_path / name, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)


def test_the_bound_is_the_next_minor_version() -> None:
    """The bound prevents the installation of a new minor version before these tests have passed with it."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [each for each in dependencies if each.startswith("kafka-python")] == ["kafka-python>=3.0.12,<3.1"]
