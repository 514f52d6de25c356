"""A release of the chart on a cluster, by Helm itself."""

from pathlib import Path
from typing import Any, Final, Self

from deploy.chart.values_schema import CHART
from sandbox.kubernetes.control_plane import ControlPlane
from tests.chart.rendering import RELEASE, Object, helm_engine

STATEFUL_SET: Final = ("apps/v1", "StatefulSet")


class Release:
    """The release `watch` of the chart in a namespace: it can be installed, upgraded, and queried for its objects."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self.cluster: Final = cluster
        self.namespace: Final = namespace
        self._config: Any = helm_engine().Config(kubeconfig_path=str(cluster.kubeconfig), namespace=namespace)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()
        self._config.close()

    def uninstall(self) -> None:
        """Run `helm uninstall`, or do nothing without a release."""
        self._config.uninstall(RELEASE, ignore_not_found=True)

    def install(self, values: Object, chart: Path = CHART) -> None:
        """Run `helm install`. Raises helm_python's HelmError."""
        self._config.install(str(chart), RELEASE, values, namespace=self.namespace)

    def upgrade(self, values: Object, chart: Path = CHART) -> None:
        """Run `helm upgrade`. Raises helm_python's HelmError."""
        self._config.upgrade(str(chart), RELEASE, values, namespace=self.namespace)

    def refused_upgrade(self, values: Object, chart: Path = CHART) -> str:
        """Return the error of `helm upgrade`; fails if it succeeds."""
        try:
            self.upgrade(values, chart)
        except helm_engine().HelmError as error:
            return str(error)
        raise AssertionError("the upgrade was not refused")

    def stateful_set(self) -> Object:
        """Return the StatefulSet of the cluster, as soon as its controller has observed its last change."""

        def seen() -> Object | None:
            (found,) = self.cluster.objects(*STATEFUL_SET, self.namespace)
            return found if found["status"].get("observedGeneration") == found["metadata"]["generation"] else None

        return self.cluster.wait_for(seen, "the controller to see the StatefulSet")

    def delete_stateful_set(self, propagation: str) -> None:
        """Delete the StatefulSet, as `kubectl delete --cascade=...` does, and wait until it is deleted."""
        name = self.stateful_set()["metadata"]["name"]
        self.cluster.delete(*STATEFUL_SET, self.namespace, name, propagation=propagation)
        self.cluster.wait_for(
            lambda: self.cluster.get(*STATEFUL_SET, self.namespace, name) is None, f"the StatefulSet {name} to be gone"
        )

    def pod(self, *, other_than: Object | None = None) -> Object:
        """Return the pod, as soon as there is one that is not `other_than`. Raises AssertionError with the events."""
        known = other_than["metadata"]["uid"] if other_than else None

        def created() -> Object | None:
            pods = self.cluster.objects("v1", "Pod", self.namespace)
            found = (pod for pod in pods if pod["metadata"]["uid"] != known)
            return next((pod for pod in found if "deletionTimestamp" not in pod["metadata"]), None)

        try:
            return self.cluster.wait_for(created, "a pod")
        except TimeoutError as error:
            raise AssertionError(f"no pod was created: {self.events()}") from error

    def events(self) -> list[str]:
        """Return the messages of all events of the namespace."""
        return [event["message"] for event in self.cluster.objects("v1", "Event", self.namespace)]
