"""`mcp-gen worker`: each mistake is one line with the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import complaint
from tests.support.ports import free_port

SERVER = """
from mcp_gen import Server, Tasks
from mcp_gen.server.tasks.options import TaskEngine

class Engine:
    async def start(self): ...
    async def aclose(self): ...
    async def submit(self, id): ...
    async def work(self, run, stopped, *, max_running): ...

server = Server("press", tasks=Tasks(engine={engine}))

@server.tool(task={task})
async def label(parcel: str) -> str:
    return parcel
"""


@pytest.mark.parametrize(
    ("engine", "task", "said"),
    [
        ("Engine()", None, "server 'press' has no tool that runs as a task: give one task="),
        (None, '"required"', "server 'press' has no engine: give it tasks=Tasks(engine="),
        ("Engine()", '"required"', "Redis at 127.0.0.1:{port}: "),
    ],
    ids=["no tool with tasks", "no engine", "no redis"],
)
def test_a_worker_that_cannot_work_says_why_in_one_line(
    tmp_path: Path, engine: str | None, task: str | None, said: str
) -> None:
    program, port = tmp_path / "press.py", free_port()
    program.write_text(SERVER.format(engine=engine, task=task))
    words = complaint("worker", str(program), "--cluster", f"redis://:secret@127.0.0.1:{port}")
    assert words.startswith("mcp-gen worker: " + said.format(port=port))
    assert "secret" not in words
