"""A folder as resources: no path leads out of it."""

from pathlib import Path

from mcp_gen import FileResources, Server

FOLDER = Path(__file__).parent / "files"
FOLDER.mkdir(exist_ok=True)
(FOLDER / "plan.txt").write_text("First measure, then cut.\n", "utf-8")

server = Server("files", "1.0.0")
server.add_resources(FileResources(FOLDER))

if __name__ == "__main__":
    server.run("stdio")
