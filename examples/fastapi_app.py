"""A server beside other routes of a FastAPI app: `uvicorn examples.fastapi_app:app`."""

from fastapi import FastAPI

from mcp_gen import Server

server = Server("inventory", "1.0.0")


@server.tool
async def count(item: str) -> int:
    """Count the items in stock."""
    return len(item)


app = FastAPI()


@app.get("/")
async def home() -> dict[str, str]:
    return {"mcp": "/tools/mcp"}


app.mount("/tools", server.asgi())
