from typing import Annotated

from mcp_gen import Argument, Context, Server, transformed

archive = Server("archive")


@archive.tool
def search(q: Annotated[str, "Lucene syntax"], limit: int = 50, tenant: str = "") -> list[str]:
    """Query the index."""
    return [f"{tenant}: {q}"][:limit]


def tenant_of(ctx: Context) -> str:
    return ctx.principal or "guest"


server = Server("helpdesk")
server.add_tool(
    transformed(
        archive.tools["search"],
        name="find_ticket",
        description="Find tickets by words in them.",
        arguments={
            "q": Argument(name="words", description="what to look for"),
            "limit": Argument(default=10, schema={"maximum": 20}),
            "tenant": Argument(make=tenant_of),
        },
    )
)

if __name__ == "__main__":
    server.run("stdio")
