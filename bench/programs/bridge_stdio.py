"""A bridge over stdio; arguments: `REVISION` for our server behind it over stdio, or its URL."""

import sys

from mcp_gen.compat.bridge.bridge import Bridge

if __name__ == "__main__":
    to = sys.argv[1]
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    command = [sys.executable, "-m", "bench.programs.only_stdio", to]
    bridge = Bridge(to) if "://" in to else Bridge(command, env="inherit")
    bridge.run("stdio")
