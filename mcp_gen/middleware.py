"""Public middleware of servers: rate limit, timing, result size, tool cache, request log, log."""

from typing import TYPE_CHECKING, Any

from mcp_gen.server.middleware.json_lines import JsonLines
from mcp_gen.server.middleware.rate_limit import RateLimit
from mcp_gen.server.middleware.records import Outcome, RequestRecord
from mcp_gen.server.middleware.request_log import RequestLog
from mcp_gen.server.middleware.result_size import ResultSizeLimit
from mcp_gen.server.middleware.timing import Timing
from mcp_gen.server.middleware.tool_cache import ToolCache

__all__ = [
    "JsonLines",
    "Outcome",
    "RateLimit",
    "RequestLog",
    "RequestRecord",
    "ResultSizeLimit",
    "Timing",
    "ToolCache",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Loaded with the first mistake.
        from mcp_gen.core.mistakes.words import WORDS

        meant = WORDS["mcp_gen.middleware"].get(name)
        if meant is not None:
            # Python would put another message in place of that of an AttributeError.
            raise ImportError(f"mcp_gen.middleware has no {name}: {meant}", name=__name__)
        raise AttributeError(f"module 'mcp_gen.middleware' has no attribute {name!r}")
