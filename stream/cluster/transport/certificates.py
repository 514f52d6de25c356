"""The advice for a server certificate that is not accepted, by OpenSSL's reason."""

from __future__ import annotations

from typing import Final

_ADVICE: Final = (
    (("has expired",), "renew the certificate of the server; if it is valid, correct the clock of this machine"),
    (("not yet valid",), "correct the clock of this machine, or wait until the certificate is valid"),
    (("mismatch",), "use a host name that the certificate contains in {address}"),
    (
        ("self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "unable to verify"),
        "set {authorities} to the authority that signed the certificate",
    ),
)


def certificate_advice(reason: str, authorities: str, address: str) -> str:
    """Return what to do about OpenSSL's `reason`; `authorities` and `address` are the options to correct."""
    low = reason.lower()
    advice = next((advice for signs, advice in _ADVICE if any(sign in low for sign in signs)), "check {authorities}")
    return advice.format(authorities=authorities, address=address)
