"""Our server over stdio."""

import sys

from bench.programs.ours import server

if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    server.run("stdio")
