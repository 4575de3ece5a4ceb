"""Words that users know from other SDKs of MCP, and what they are called here.

Loaded with the first mistake. Each value ends a message: it says what to write.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["WORDS"]

_ASGI = "write `server.asgi()`, an ASGI app for every revision"
_LOG = '`await ctx.log("{}", ...)`'
_SESSION = "call it on the session that `await client.connect(target)` returns"
_LISTEN = 'pass it to `server.run("http", host=..., port=...)`'

WORDS: Mapping[str, Mapping[str, str]] = {
    "tool": {
        "enabled": "register the tool and call `server.disable_tool(name)`",
        "exclude_args": "annotate the parameter `Annotated[T, Depends(factory)]`",
        "output_schema_model": "annotate what the function returns",
        "read_only": "write `annotations=ToolAnnotations(read_only_hint=True)`",
        "serializer": "return text, or data that is sent as JSON",
        "structured_output": "the return annotation says so: data, or `str` for text alone",
        "timeout": "write `timeout_s=`, in seconds",
        "ttl": "write `Server(tasks=Tasks(ttl_s=...))`",
    },
    "prompt": {
        "arguments": "they are the parameters of the function",
        "enabled": "register the prompt and call `server.disable_prompt(name)`",
        "mime_type": "return a content block; see `mcp_gen.content`",
    },
    "resource": {
        "enabled": "register the resource and call `server.disable_resource(uri)`",
        "mimetype": "write `mime_type=`",
        "uri": "the URI comes first, without a name",
    },
    "Server": {
        "auth": "put an ASGI middleware around `server.asgi(principal=...)`",
        "debug": "set the level of the logger `mcp_gen`",
        "dependencies": "declare them in the `pyproject.toml` of your server",
        "host": _LISTEN,
        "json_response": "write `server.asgi(json_only=True)`",
        "list_page_size": "write `page_size=`",
        "log_level": "set the level of the logger `mcp_gen`",
        "mask_error_details": "write `mask_errors=True`",
        "middleware": "write `server.add_middleware(function)`",
        "on_duplicate_tools": "remove the first tool, or give one of the two another name",
        "path": 'pass it to `server.run("http", path=...)`',
        "port": _LISTEN,
        "session_state_store": "write `session_state=SessionState(store=...)`",
        "stateless_http": "write `server.asgi(stateless=True)`",
        "tools": "write `server.add_tool(function)` for each",
        # methods and attributes
        "add_tool_transformation": "write `server.transform_tool(name, ...)`",
        "as_proxy": "mount the session of a client: `server.mount(prefix, session)`",
        "call_tool": "register each tool with `@server.tool`; to call one, use a `Client`",
        "create_initialization_options": 'write `server.run("stdio")`, it needs none',
        "custom_route": "put `server.asgi()` beside your routes in an ASGI framework",
        "get_context": "call `mcp_gen.current_context()`",
        "get_prompt": "register each prompt with `@server.prompt`; to get one, use a `Client`",
        "http_app": _ASGI,
        "import_server": "write `server.mount(prefix, other)`",
        "list_prompts": "register each prompt with `@server.prompt`; `server.prompts` has them",
        "list_resources": "register each with `@server.resource(uri)`; `server.resources` has them",
        "list_tools": "register each tool with `@server.tool`; `server.tools` has them",
        "progress_handler": "write `await ctx.report_progress(1, 3)` in the tool",
        "read_resource": "register each with `@server.resource(uri)`; to read one, use a `Client`",
        "request_context": "call `mcp_gen.current_context()`",
        "resource_template": 'write `@server.resource("users://{id}")`',
        "run_http_async": "serve `server.asgi()` with an ASGI server",
        "run_stdio_async": 'write `server.run("stdio")` without a loop',
        "sse_app": 'write `server.asgi(legacy_sse_path="/sse")`',
        "streamable_http_app": _ASGI,
    },
    "server.asgi": {
        "json_response": "write `json_only=True`",
        "stateless_http": "write `stateless=True`",
        "transport": "`asgi` is Streamable HTTP; add HTTP+SSE with `legacy_sse_path=`",
        "middleware": "put the ASGI middleware around the app",
    },
    "Context": {
        "critical": f"write {_LOG.format('critical')}",
        "debug": f"write {_LOG.format('debug')}",
        "error": f"write {_LOG.format('error')}",
        "info": f"write {_LOG.format('info')}",
        "warning": f"write {_LOG.format('warning')}",
        "client_id": "use `ctx.principal`, which is authenticated, or `ctx.client_info`",
        "fastmcp": "use `ctx.server`",
        "get_prompt": "call the function of the prompt",
        "get_state": "write `await ctx.state.get(name)`",
        "lifespan_context": "use `ctx.lifespan`",
        "request_context": "the context is the request: `ctx.session`, `ctx.meta`, `ctx.lifespan`",
        "session_id": "write `ctx.session.id`, where there is a session",
        "set_state": "write `await ctx.state.set(name, value)`",
    },
    "Client": {
        "auth": 'write `client.connect(url, bearer_token="...")`',
        "client_info": "write `Client(name, version)`",
        "elicitation_callback": "write `elicitation=`",
        "elicitation_handler": "write `elicitation=`",
        "init_timeout": "write `timeout_s=`, in seconds",
        "list_roots_callback": "write `roots=`",
        "log_handler": "decorate a function with `@client.hooks.on_logging_message`",
        "logging_callback": "decorate a function with `@client.hooks.on_logging_message`",
        "message_handler": "add hooks: `@client.hooks.on_...`",
        "progress_handler": "write `await session.call_tool(..., progress=function)`",
        "read_timeout_seconds": "write `timeout_s=`",
        "sampling_callback": "write `sampling=`",
        "sampling_handler": "write `sampling=`",
        "timeout": "write `timeout_s=`, in seconds",
        "transport": "write `client.connect(transport)`",
        # methods
        "call_tool": _SESSION,
        "get_prompt": _SESSION,
        "is_connected": "`client.connect(target)` returns when it is",
        "list_prompts": _SESSION,
        "list_resources": _SESSION,
        "list_tools": _SESSION,
        "read_resource": _SESSION,
    },
    "mcp_gen": {
        "CurrentContext": "call `current_context()`, or annotate a parameter `Context`",
        "FastMCP": "the class is `Server`: `from mcp_gen import Server`",
        "get_context": "the function is `current_context`: `from mcp_gen import current_context`",
        "Image": "write `from mcp_gen.content import image`",
        "MCPServer": "the class is `Server`: `from mcp_gen import Server`",
        "StdioServerParameters": 'write `client.connect("command with arguments")`',
        "Tool": "write `from mcp_gen.types import Tool`",
        "TextContent": "write `from mcp_gen.types import TextContent`",
    },
    "transport": {
        "sse": 'write `server.run("http", legacy_sse_path="/sse")`',
        "streamable-http": 'write `server.run("http")`',
        "streamable_http": 'write `server.run("http")`',
    },
}
"""The end of the message, by topic and by word."""
