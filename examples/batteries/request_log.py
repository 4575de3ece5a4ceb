"""Request log: one line of JSON per request on stderr, without arguments."""

import logging
import sys

from mcp_gen import Server
from mcp_gen.middleware import RequestLog

handler = logging.StreamHandler(sys.stderr)
handler.setFormatter(logging.Formatter("%(message)s"))
logger = logging.getLogger("mcp_gen.requests")
logger.addHandler(handler)
logger.setLevel(logging.INFO)
logger.propagate = False

server = Server("logged", "1.0.0")
# `arguments=True` adds them, without what looks like a secret.
server.add_middleware(RequestLog())


@server.tool
async def sign_in(user: str, password: str) -> str:
    """Sign a user in."""
    return f"hello {user}"


if __name__ == "__main__":
    server.run("stdio")
