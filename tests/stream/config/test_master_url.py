"""Master URLs: which kinds of clusters are supported, and where their masters are."""

from __future__ import annotations

import re

import pytest

from stream.config.master_url import LocalClusterSize, MasterKind, MasterUrl


@pytest.mark.parametrize("text", ["local", "local[*]", "local[2]", "local[2,3]", "local[*, 3]"])
def test_local_masters_have_no_executors(text: str) -> None:
    """`local`, with any number of threads and attempts, runs the tasks in the driver."""
    master = MasterUrl.parse(text)
    assert master.kind is MasterKind.LOCAL
    assert not master.has_executors
    assert not master.is_on_other_machines


def test_local_cluster_has_its_size_in_the_url() -> None:
    """The numbers are executors, cores and megabytes; the executors of a local cluster are on this machine."""
    master = MasterUrl.parse("local-cluster[2, 1,1024]")
    assert master.size == LocalClusterSize(executors=2, cores=1, megabytes=1024)
    assert master.has_executors
    assert not master.is_on_other_machines


@pytest.mark.parametrize(
    ("text", "kind", "addresses"),
    [
        ("spark://master:7077", MasterKind.STANDALONE, (("master", 7077),)),
        ("spark://a:7077,b.example:7078", MasterKind.STANDALONE, (("a", 7077), ("b.example", 7078))),
        ("spark://[::1]:7077", MasterKind.STANDALONE, (("::1", 7077),)),
        ("k8s://https://kubernetes.default.svc", MasterKind.KUBERNETES, (("kubernetes.default.svc", 443),)),
        ("k8s://https://10.0.0.1:6443", MasterKind.KUBERNETES, (("10.0.0.1", 6443),)),
        ("k8s://api.example:6443", MasterKind.KUBERNETES, (("api.example", 6443),)),
    ],
)
def test_clusters_have_the_addresses_of_their_masters(
    text: str, kind: MasterKind, addresses: tuple[tuple[str, int], ...]
) -> None:
    """Standalone masters and the API server of Kubernetes are named by host and port."""
    master = MasterUrl.parse(text)
    assert (master.kind, master.addresses) == (kind, addresses)
    assert master.is_on_other_machines


@pytest.mark.parametrize(
    "text", ["", "yarn", "mesos://m:5050", "spark://m", "spark://", "local[x]", "local-cluster[0,1,1024]", "k8s://"]
)
def test_other_masters_are_refused(text: str) -> None:
    """Other kinds of masters and incomplete URLs are refused. The error begins with the value."""
    with pytest.raises(ValueError, match=f"^{re.escape(repr(text))} must (be|have) "):
        MasterUrl.parse(text)
