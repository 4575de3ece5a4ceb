"""The target with a planted fault: after some calls its process ends, with a word on stderr."""

from __future__ import annotations

import logging
import os
from typing import Any

from tests.fuzz.target import make_server

CALLS = 5
STATUS = 3

server = make_server()
calls: list[str] = []


@server.middleware
async def end_at_last(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
    calls.append(method)
    if len(calls) > CALLS:
        logging.getLogger("planted").error("the end")
        os._exit(STATUS)
    return await call_next(params)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    server.run("stdio")
