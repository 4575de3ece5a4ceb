"""One peer of the zoo as a program: a server over stdin and stdout, or a client of a command.

python -m mcp_gen.compat.zoo ID --breaks --revision REVISION
python -m mcp_gen.compat.zoo ID --breaks --revision REVISION --server COMMAND
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Sequence

from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.reference.program import program_arguments, serve_stdio
from mcp_gen.compat.wire.openers import CommandOpener
from mcp_gen.compat.zoo.process_client import OfProcess
from mcp_gen.compat.zoo.zoo import zoo

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Serve one client over stdin and stdout until it closes stdin, or use a server once.

    Args:
        words: The arguments of the command line; None: those of this process.
    """
    parser = program_arguments("Be one peer of the zoo.")
    parser.add_argument("id", choices=zoo(), metavar="ID")
    parser.add_argument(
        "--server", type=shlex.split, metavar="COMMAND", help="the server of a client, in quotes"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--breaks", action="store_true", help="the one that breaks the requirement")
    which.add_argument("--keeps", action="store_true", help="its twin, which keeps it")
    args = parser.parse_args(words)
    pair = zoo()[args.id]
    peer = pair.breaks if args.breaks else pair.keeps
    if not issubclass(peer, ClientScript):
        serve_stdio(peer(args.revision), args.into)
        return
    if not args.server:
        parser.error("a client needs `--server COMMAND`")
    try:
        asyncio.run(_use(peer, args.server, args.revision))
    except ScriptFailure as failure:
        raise SystemExit(str(failure)) from None


async def _use(kind: type[ClientScript], command: list[str], revision: str) -> None:
    with tempfile.TemporaryFile() as stderr:
        opens = CommandOpener(command, env="inherit", stderr=stderr.fileno())
        client = kind(opens, revision)
        if isinstance(client, OfProcess):
            client.stderr = stderr
        await client.run()


if __name__ == "__main__":
    main()
