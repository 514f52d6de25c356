"""Master URLs: which kinds of clusters are supported, and where their masters are."""

import re

import pytest

from stream.config.master_url import MasterKind, MasterUrl

MASTERS: dict[str, tuple[MasterKind, tuple[tuple[str, int], ...]]] = {
    "spark://master:7077": (MasterKind.STANDALONE, (("master", 7077),)),
    "spark://a:7077,b.example:7078": (MasterKind.STANDALONE, (("a", 7077), ("b.example", 7078))),
    "spark://[::1]:7077": (MasterKind.STANDALONE, (("::1", 7077),)),
    "k8s://https://kubernetes.default.svc": (MasterKind.KUBERNETES, (("kubernetes.default.svc", 443),)),
    "k8s://https://10.0.0.1:6443": (MasterKind.KUBERNETES, (("10.0.0.1", 6443),)),
    "k8s://api.example:6443": (MasterKind.KUBERNETES, (("api.example", 6443),)),
}


def test_clusters_have_the_addresses_of_their_masters() -> None:
    """Standalone masters and the API server of Kubernetes are named by host and port."""
    masters = {text: MasterUrl.parse(text) for text in MASTERS}
    assert {text: (master.kind, master.addresses) for text, master in masters.items()} == MASTERS
    assert all(master.is_on_other_machines for master in masters.values())


def test_other_masters_are_refused() -> None:
    """Other kinds of masters and incomplete URLs are refused. The error begins with the value."""
    texts = ("", "yarn", "mesos://m:5050", "spark://m", "spark://", "local[x]", "local-cluster[0,1,1024]", "k8s://")
    for text in texts:
        with pytest.raises(ValueError, match=f"^{re.escape(repr(text))} must (be|have) "):
            MasterUrl.parse(text)
