"""A server's file, served over HTTP at a free port, which it logs.

    python over_http.py OPTIONS FILE ARGUMENTS...

OPTIONS are those of `Server.asgi`, as JSON; ARGUMENTS are for the file.
"""

import json
import logging
import sys

from mcp_gen.client.connecting.python_code import load

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    _, options, *sys.argv = sys.argv
    load(sys.argv[0]).run("http", port=0, announce=False, **json.loads(options))
