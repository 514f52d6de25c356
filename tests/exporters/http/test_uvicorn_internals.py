"""The parts of uvicorn's HTTP/1.1 protocol that `exporters.http.server` uses although they are not public.

uvicorn may change them in any minor version. Then the limits on slow clients would silently stop working, so
`pyproject.toml` has an upper bound for uvicorn. Raise the bound only if these tests and those of `test_connection.py`
pass with the new version.
"""

import asyncio
import inspect
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from exporters.http.server import LimitedConnection

OVERRIDDEN = {
    "connection_made": ["self", "transport"],
    "data_received": ["self", "data"],
    "connection_lost": ["self", "exc"],
    "send_400_response": ["self", "msg"],
    "on_response_complete": ["self"],
    "pause_writing": ["self"],
    "resume_writing": ["self"],
    "shutdown": ["self"],
}


async def _app(_scope: Any, _receive: Any, _send: Any) -> None:
    """Stand for an application that is never called."""


def protocol() -> H11Protocol:
    """Return uvicorn's protocol without a connection."""
    loop = asyncio.new_event_loop()
    try:
        return H11Protocol(uvicorn.Config(_app, loop="asyncio", log_config=None), ServerState(), {}, loop)
    finally:
        loop.close()


def test_methods_and_attributes_exist_and_none_is_replaced() -> None:
    """Each override is listed; without `response_complete` a connection would look idle during its response."""
    for of in (H11Protocol, LimitedConnection):
        assert {name: list(inspect.signature(getattr(of, name)).parameters) for name in OVERRIDDEN} == OVERRIDDEN
    ours = {name for name in vars(LimitedConnection) if not name.startswith("_")}
    assert {name for name in ours if hasattr(H11Protocol, name)} == set(OVERRIDDEN)
    found = protocol()
    assert found.cycle is None
    assert {"loop", "transport", "cycle"} <= set(dir(found))
    assert "response_complete" in RequestResponseCycle.__init__.__code__.co_names
    assert list(inspect.signature(get_remote_addr).parameters) == ["transport"]
    ours = {name for name in LimitedConnection.__init__.__code__.co_names if name.startswith("_")} - {"__init__"}
    assert not ours & (vars(protocol()).keys() | vars(H11Protocol).keys())


def test_the_server_waits_as_uvicorn_does() -> None:
    """Of the loop of the server only its pace differs: what it does once a second, and when it exits, is uvicorn's."""
    assert list(inspect.signature(uvicorn.Server.main_loop).parameters) == ["self"]
    assert "await asyncio.sleep(0.1)" in inspect.getsource(uvicorn.Server.main_loop)
    assert "counter % 10 == 0" in inspect.getsource(uvicorn.Server.on_tick)
