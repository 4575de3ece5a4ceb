"""A server's file, served over HTTP at a free port, which it logs: FILE OPTIONS, these as JSON."""

import json
import logging
import sys

from mcp_gen.cli.loading import load

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    file, options = sys.argv[1:]
    load(file).run("http", port=0, **json.loads(options))
