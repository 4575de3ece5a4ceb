"""Ships modules of the generator in `mcp_wire`: they make types of servers that run.

The runtime cannot import the generator, which is not installed with it; nor the other way round.
"""

from pathlib import Path

import codegen

_FOLDER = "emitting"
_SHIPPED = {
    "codegen.emit.python_source": "python_source",
    "codegen.model.names": "names",
    "codegen.model.shapes": "shapes",
    "codegen.printable": "printable",
}
"""Names of the copies. A module imports none but these."""

_PACKAGE = '"""The parts of the generator that turn types and names into Python text."""\n'


def machinery(header: str) -> dict[Path, str]:
    """Return the shipped modules, by path inside the package.

    Args:
        header: The first line of each.
    """
    made = {Path(_FOLDER, "__init__.py"): f"{header}\n{_PACKAGE}"}
    root = Path(codegen.__file__).parent
    for module, name in _SHIPPED.items():
        path = root.joinpath(*module.split(".")[1:]).with_suffix(".py")
        text = path.read_text("utf-8")
        for shipped, copy in _SHIPPED.items():
            text = text.replace(f"from {shipped} import", f"from mcp_wire.{_FOLDER}.{copy} import")
        made[Path(_FOLDER, f"{name}.py")] = f"{header}\n{text}"
    return made
