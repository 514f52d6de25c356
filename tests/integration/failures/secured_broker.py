"""A broker with ACLs, and a listener that requires a login."""

from collections.abc import Mapping
from typing import Final

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK, free_port_pair

PLAIN_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class SecuredBroker(Broker):
    """A broker that allows everything at `bootstrap`, and at `sasl` what the ACLs of a user allow, after a login."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        (port, controller), (sasl, _) = free_port_pair(), free_port_pair()
        ports = {"PLAIN": port, "CONTROLLER": controller, "SASL": sasl}
        users = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
        super().__init__(
            properties={
                "listeners": ",".join(f"{name}://{LOOPBACK}:{number}" for name, number in ports.items()),
                "listener.security.protocol.map": "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "inter.broker.listener.name": "PLAIN",
                "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config": f"{PLAIN_LOGIN} {users};",
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            }
        )
        self._ports = (port, controller)  # its listeners are not the sandbox's
        self.sasl: Final = f"{LOOPBACK}:{sasl}"


def login(user: str, password: str) -> dict[str, str]:
    return {
        "kafka.security_protocol": "SASL_PLAINTEXT",
        "kafka.sasl_mechanism": "PLAIN",
        "kafka.sasl_username": user,
        "kafka.sasl_password": password,
    }
