"""Timing: a histogram of the durations of each tool, and a warning for slow ones."""

import sys
from collections import Counter, defaultdict

from mcp_gen import Server
from mcp_gen.middleware import RequestRecord, Timing

BUCKETS_S = (0.01, 0.1, 1.0, 10.0)

server = Server("timed", "1.0.0")
histograms: defaultdict[str, Counter[float]] = defaultdict(Counter)


def observe(record: RequestRecord) -> None:
    bucket_s = next((one for one in BUCKETS_S if record.duration_s <= one), float("inf"))
    histograms[record.target or record.method][bucket_s] += 1
    if record.target is not None:
        counted = histograms[record.target].total()
        print(record.target, record.outcome, counted, file=sys.stderr)


server.add_middleware(Timing(observe, slow_s=5))


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def fail() -> None:
    """Fail."""
    raise ValueError("as was to be expected")


if __name__ == "__main__":
    server.run("stdio")
