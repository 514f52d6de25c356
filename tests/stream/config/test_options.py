"""The tree of options: its defaults, immutability, and the generated documentation page."""

from pathlib import Path

import pydantic
import pytest

from stream.config.loader import KEYS
from stream.config.options import SECRETS, SECTIONS, JobOptions, WebhookOptions
from stream.config.reference_page import markdown
from stream.groups.placement import EVERY_GROUP, InstancePart

PAGE = Path(__file__).parents[3] / "docs" / "config.md"
FIELDS = {key: SECTIONS[key.partition(".")[0]].model_fields[key.partition(".")[2]] for key in KEYS}


def test_page_is_up_to_date() -> None:
    """`docs/config.md` equals the output of `python -m stream.config.reference_page`."""
    assert PAGE.read_text() == markdown()


def test_only_the_servers_are_required() -> None:
    """Every option except `kafka.bootstrap_servers` has a default.

    `SECRETS`, the keys that can be read from files, are exactly the options of type `Secret`.
    """
    assert [key for key, field in FIELDS.items() if field.is_required()] == ["kafka.bootstrap_servers"]
    assert {key for key, field in FIELDS.items() if "Secret" in str(field.annotation)} == SECRETS


def test_urls_of_a_webhook() -> None:
    """A webhook may use `https`, or `http` for a receiver in the same cluster.

    A URL with a password is rejected, because the configuration would print the password.
    """
    for url in ("http://receiver.events.svc/", "https://events.example.com:8443/a?b=c", "http://[::1]:80"):
        assert WebhookOptions(url=(url,)).url == (url,)
    wrong = ("", "events.example.com", "ftp://a/", "http://user:secret@a/", "http://a/#b", "http://a b/")
    for url in (*wrong, "http://a:99999/"):
        with pytest.raises(pydantic.ValidationError, match="must be a URL"):
            WebhookOptions(url=(url,))


def test_options_of_a_webhook_that_has_no_url_have_no_effect() -> None:
    """A token has no effect without a URL, and an authority has no effect for a URL without TLS."""
    token, authority = Path("/run/secrets/token"), Path(__file__)
    assert [key for key, _ in WebhookOptions(bearer_token_file=token).contradictions()] == ["bearer_token_file"]
    assert [key for key, _ in WebhookOptions(url=("http://a/",), ca_file=authority).contradictions()] == ["ca_file"]
    assert WebhookOptions(url=("https://a/",), ca_file=authority, bearer_token_file=token).contradictions() == []


def test_an_instance_is_stored_as_two_numbers() -> None:
    """The option accepts the name of a pod; the error for an instance counted from 1 names the valid instances."""
    assert JobOptions(instance="lagwarden-1/3").instance == "1/3"
    assert JobOptions(instance="lagwarden-1/3").part == InstancePart(1, 3)
    assert JobOptions().part == EVERY_GROUP
    with pytest.raises(ValueError, match="counts instances from 0: the last of 3 is 2/3"):
        JobOptions(instance="3/3")
