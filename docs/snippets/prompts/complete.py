"""Ask a server for completions, as an editor does while its user types."""

import asyncio

from mcp_gen import Client
from mcp_gen.types import (
    CompletionArgument,
    CompletionContext,
    PromptReference,
)

from conversation import server


async def main() -> None:
    async with Client("editor", "1.0.0") as client:
        session = await client.connect(server)
        found = await session.complete(
            PromptReference(name="trip"),
            CompletionArgument(name="city", value=""),
            context=CompletionContext(arguments={"country": "Peru"}),
        )
        print(found.completion.values)


if __name__ == "__main__":
    asyncio.run(main())
