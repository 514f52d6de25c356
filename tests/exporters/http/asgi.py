"""Requests on the bare ASGI protocol."""

import asyncio
from typing import Any

from starlette.types import Message


def scope(path: str = "/metrics", client: str = "10.0.0.1") -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": path, "headers": [], "client": (client, 1)}


async def nothing_more() -> Message:
    """Simulate a client that stays connected and sends nothing more."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


async def sent_by(app: Any, path: str = "/metrics", client: str = "10.0.0.1") -> list[Any]:
    """Run an application and return the messages that it sends."""
    messages: list[Any] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope(path, client), nothing_more, send)
    return messages
