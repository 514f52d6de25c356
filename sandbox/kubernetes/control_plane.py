"""A cluster without nodes on loopback: its pods are created and admitted like any others, and stay Pending.

RBAC, pod security admission and all default admission plugins are on. Of the controllers run those of CONTROLLERS.
"""

import contextlib
import json
import ssl
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import httpx
import yaml

from sandbox.kubernetes.programs import require_programs
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.waiting import wait_until

CONTROLLERS: Final = ("statefulset-controller", "serviceaccount-controller", "garbage-collector-controller")
"""Pods of StatefulSets, the account `default` of each namespace, and objects without an owner."""
TOKEN: Final = "administrator"  # noqa: S105 -- of a server on loopback that ends with the test
_START_LIMIT: Final = 240.0
_STOP_LIMIT: Final = 20.0
_WAIT_LIMIT: Final = 90.0
_HTTP_SECONDS: Final = 60.0

Object = dict[str, Any]
T = TypeVar("T")


class RefusedError(RuntimeError):
    """The API server refused a request; the message is its own, `code` the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code: Final = code


class ControlPlane:
    """`with ControlPlane(folder) as cluster: cluster.get("v1", "Namespace", "", "default")`.

    The folder takes data, logs and certificates. Raises KubernetesMissingError where the programs are missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs = require_programs()
        self._etcd = f"http://{LOOPBACK}:{free_port()}"
        self.address: Final = f"https://{LOOPBACK}:{free_port()}"
        self.kubeconfig: Final = folder / "kubeconfig"
        self._stack = contextlib.ExitStack()
        self._plurals: dict[str, dict[str, tuple[str, bool]]] = {}

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            self._start_etcd(stack)
            server = self._start_api_server(stack)
            self._http = stack.enter_context(self._client())
            wait_until(lambda: not server.running or self._is_ready(), "kube-apiserver", limit=_START_LIMIT, pause=0.5)
            if not server.running:
                raise RuntimeError(f"kube-apiserver does not start: {server.log.read_text(errors='replace')[-500:]}")
            self._start_controller_manager(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # --- requests ---

    def get(self, version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object; None if it does not exist. `namespace` is ignored for kinds without one."""
        try:
            return self.request("GET", f"{self.path(version, kind, namespace)}/{name}")
        except RefusedError as error:
            if error.code == httpx.codes.NOT_FOUND:
                return None
            raise

    def objects(self, version: str, kind: str, namespace: str) -> list[Object]:
        """Return the objects of a kind in a namespace."""
        found: list[Object] = self.request("GET", self.path(version, kind, namespace))["items"]
        return found

    def create(self, one: Object, namespace: str = "") -> Object:
        """Create an object, in the namespace that it has, else in the given one."""
        return self.request("POST", self._collection(one, namespace), json.dumps(one))

    def judge(self, one: Object | str, kind: Object, namespace: str = "") -> list[str]:
        """Return the warnings of a strict dry run of a creation. Raises RefusedError.

        `one` is the object, or its text (YAML), which may have faults that an object cannot have; `kind` is an object
        of the same kind.
        """
        body = one if isinstance(one, str) else json.dumps(one)
        path = f"{self._collection(kind, namespace)}?dryRun=All&fieldValidation=Strict"
        response = self._answer("POST", path, body, "application/yaml")
        return [value for name, value in response.headers.multi_items() if name == "warning"]

    def delete(self, version: str, kind: str, namespace: str, name: str, *, propagation: str = "Background") -> None:
        """Delete an object. `propagation` is Kubernetes' own word: Background, Foreground or Orphan."""
        options = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation})
        self.request("DELETE", f"{self.path(version, kind, namespace)}/{name}", options)

    def request(self, method: str, path: str, body: str | None = None) -> Object:
        """Return the answer of the API server to a request with a body in JSON. Raises RefusedError."""
        answer: Object = self._answer(method, path, body, "application/json").json()
        return answer

    def path(self, version: str, kind: str, namespace: str) -> str:
        """Return the path of the objects of a kind, by the server's own list of kinds."""
        base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        if kind not in self._plurals.get(version, {}):
            resources = self.request("GET", base)["resources"]
            self._plurals[version] = {
                one["kind"]: (one["name"], one["namespaced"]) for one in resources if "/" not in one["name"]
            }
        plural, is_namespaced = self._plurals[version][kind]
        return f"{base}/namespaces/{namespace}/{plural}" if is_namespaced else f"{base}/{plural}"

    def define(self, definition: Object) -> None:
        """Create a CustomResourceDefinition and wait until its kind is served."""
        self.create(definition)
        name = definition["metadata"]["name"]

        def is_established() -> bool:
            found = self.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) or {}
            # Without a condition yet the list is null.
            conditions = found.get("status", {}).get("conditions") or []
            return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

        self.wait_for(is_established, f"{name} to be established")

    def wait_for(self, question: Callable[[], T | None], what: str) -> T:
        """Return the first answer that is not empty. Raises TimeoutError with the text `what`."""
        answers: list[T] = []

        def is_answered() -> bool:
            if answer := question():
                answers.append(answer)
            return bool(answers)

        wait_until(is_answered, what, limit=_WAIT_LIMIT, pause=0.2)
        return answers[0]

    def _collection(self, one: Object, namespace: str) -> str:
        return self.path(one["apiVersion"], one["kind"], one["metadata"].get("namespace") or namespace)

    def _answer(self, method: str, path: str, body: str | None, content_type: str) -> httpx.Response:
        response = self._http.request(method, path, content=body, headers={"Content-Type": content_type})
        if response.is_error:
            raise RefusedError(response.status_code, response.json().get("message", response.text))
        return response

    # --- processes ---

    def _start_etcd(self, stack: contextlib.ExitStack) -> None:
        peer = f"http://{LOOPBACK}:{free_port()}"
        self._start(
            stack,
            "etcd",
            [
                *(f"--data-dir={self._folder / 'etcd'}", f"--listen-client-urls={self._etcd}"),
                *(f"--advertise-client-urls={self._etcd}", f"--listen-peer-urls={peer}"),
                *(f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"),
                *("--logger=zap", "--log-level=warn"),
            ],
        )

    def _start_api_server(self, stack: contextlib.ExitStack) -> GuardedProcess:
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},administrator,1,"system:masters"\n')
        key = self._folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        self._write_kubeconfig()
        return self._start(
            stack,
            "kube-apiserver",
            [
                *(f"--etcd-servers={self._etcd}", f"--cert-dir={self._folder / 'certificates'}"),
                *(f"--bind-address={LOOPBACK}", f"--secure-port={self.address.rpartition(':')[2]}"),
                *(f"--advertise-address={LOOPBACK}", "--endpoint-reconciler-type=none"),
                *(f"--token-auth-file={tokens}", "--authorization-mode=RBAC"),
                *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
                *("--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24"),
            ],
        )

    def _start_controller_manager(self, stack: contextlib.ExitStack) -> None:
        self._start(
            stack,
            "kube-controller-manager",
            [
                *(f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"),
                *(f"--controllers={','.join(CONTROLLERS)}", "--kube-api-qps=200", "--kube-api-burst=400"),
            ],
        )

    def _start(self, stack: contextlib.ExitStack, name: str, arguments: Sequence[str]) -> GuardedProcess:
        process = stack.enter_context(
            GuardedProcess([str(self._programs[name]), *arguments], self._folder / f"{name}.log")
        )
        stack.callback(process.terminate, _STOP_LIMIT)
        return process

    def _write_kubeconfig(self) -> None:
        cluster = {"server": self.address, "insecure-skip-tls-verify": True}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "loopback", "cluster": cluster}],
            "users": [{"name": "administrator", "user": {"token": TOKEN}}],
            "contexts": [{"name": "loopback", "context": {"cluster": "loopback", "user": "administrator"}}],
            "current-context": "loopback",
        }
        self.kubeconfig.write_text(yaml.safe_dump(content))

    def _client(self) -> httpx.Client:
        # The server signs its certificate itself when it starts.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=self.address, verify=context, headers=headers, timeout=_HTTP_SECONDS)

    def _is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return self._http.get("/readyz").is_success
        return False
