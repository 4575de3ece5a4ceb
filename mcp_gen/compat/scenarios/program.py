"""Program with the server of one scenario over stdin and stdout; it writes its transcript.

python -m mcp_gen.compat.scenarios.program --revision REVISION --scenario ID --into FOLDER
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_gen.compat.checks.client_run import STRICT
from mcp_gen.compat.reference.program import program_arguments, serve_stdio
from mcp_gen.compat.scenarios.scenario import scenario_of

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Serve one client over stdin and stdout until it closes stdin.

    Args:
        words: The arguments of the command line; None: those of this process.
    """
    parser = program_arguments("Serve one client in a scenario of the doctor.")
    parser.add_argument("--scenario", default=STRICT, metavar="ID")
    args = parser.parse_args(words)
    serve_stdio(scenario_of(args.scenario).server(args.revision), args.into)


if __name__ == "__main__":
    main()
