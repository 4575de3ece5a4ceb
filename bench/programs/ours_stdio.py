"""Our server over stdio."""

import sys

from bench.programs.ours import add, server

TIMEOUT_S = 30.0

if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    server.add_tool(add, name="add_in_time", timeout_s=TIMEOUT_S)
    server.run("stdio")
