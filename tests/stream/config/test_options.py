"""The configuration tree: usable defaults, frozen values, and a documentation page that is what the classes say."""

from __future__ import annotations

from pathlib import Path

import pydantic
import pytest

from stream.config.loader import KEYS, load
from stream.config.options import SECRETS, SECTIONS, KafkaOptions
from stream.config.reference_page import markdown

PAGE = Path(__file__).parents[3] / "docs" / "config.md"


def test_page_is_what_the_classes_say() -> None:
    """`docs/config.md` is what `python -m stream.config.reference_page` prints."""
    assert PAGE.read_text() == markdown()


@pytest.mark.parametrize("key", KEYS)
def test_each_option_is_explained(key: str) -> None:
    """An option has a sentence of help and, where it is a number, a unit or a plain count."""
    section, _, option = key.partition(".")
    field = SECTIONS[section].model_fields[option]
    assert field.description is not None
    assert field.description.endswith(".")
    assert f"`{key}`" in PAGE.read_text()


def test_only_the_servers_are_needed() -> None:
    """Every other option has a default that works."""
    required = [
        key for key in KEYS if SECTIONS[key.partition(".")[0]].model_fields[key.partition(".")[2]].is_required()
    ]
    assert required == ["kafka.bootstrap_servers"]


def test_all_secret_values_are_known_as_secrets() -> None:
    """An option whose type hides its value is one that can come from a file of its own, and the other way round."""
    hidden = {
        key
        for key in KEYS
        if "SecretStr" in str(SECTIONS[key.split(".")[0]].model_fields[key.split(".")[1]].annotation)
    }
    assert hidden == SECRETS


def test_values_cannot_be_changed() -> None:
    """A configuration that threads share does not move under them."""
    config = load(flags={"kafka.bootstrap_servers": "a:1"})
    with pytest.raises(pydantic.ValidationError):
        config.http.port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "address", ["broker:9092", "10.0.0.1:1", "[::1]:65535", "b-1.kafka.svc.cluster.local:9092", "my_host:1"]
)
def test_addresses_that_exist_in_the_wild(address: str) -> None:
    """Names, IPv4 and bracketed IPv6 are all addresses."""
    assert KafkaOptions(bootstrap_servers=address).bootstrap_servers == (address,)  # type: ignore[arg-type]
