"""Public middleware of servers: rate limit, timing, request log, result size limit, tool cache."""

from mcp_gen.server.middleware.rate_limit import RateLimit
from mcp_gen.server.middleware.records import Outcome, RequestRecord
from mcp_gen.server.middleware.request_log import RequestLog
from mcp_gen.server.middleware.result_size import ResultSizeLimit
from mcp_gen.server.middleware.timing import Timing
from mcp_gen.server.middleware.tool_cache import ToolCache

__all__ = [
    "Outcome",
    "RateLimit",
    "RequestLog",
    "RequestRecord",
    "ResultSizeLimit",
    "Timing",
    "ToolCache",
]
