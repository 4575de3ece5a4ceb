"""Wire types of the newest revision; values of any revision are accepted and projected."""

from mcp_wire.latest import *
from mcp_wire.latest import __all__ as __all__
