"""`python -m codegen`: writes the package and the reference, or shows what would change."""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from codegen import tree
from codegen.build import build
from codegen.docs import Docs
from codegen.emit import emit
from codegen.errors import CodegenError
from codegen.facts import check_alike, check_facts
from codegen.ir import Revision
from codegen.load import load
from codegen.normalize import normalize
from codegen.overlay import Overlay
from codegen.reference import reference

_EXAMPLES = """\
examples:
  python -m codegen             write every revision under schema/
  python -m codegen --check     show what would change; exit 1 if anything would
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the generator; the exit code."""
    options = _options(arguments)
    started = time.perf_counter()
    try:
        made = generate(options.root)
        package = (options.out or options.root / "generated") / "mcp_wire"
        pages = options.root / "docs" / "reference"
        if options.check:
            stale = _show("generated/", made.package, package)
            stale |= _show("docs/reference/", made.reference, pages)
            return 1 if stale else 0
        changed = [*tree.write(made.package, package), *tree.write(made.reference, pages)]
    except CodegenError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(f"wrote {path}")
    count = len(made.package) + len(made.reference)
    print(f"{count} files, {len(changed)} changed, {time.perf_counter() - started:.1f} s")
    return 0


@dataclass(frozen=True)
class Generated:
    """All that is generated, by its path in the package or in the folder of the reference."""

    package: dict[Path, str]
    reference: dict[Path, str]


def generate(root: Path) -> Generated:
    """Every file of the package and of the reference, from the inputs under `root/schema`.

    Raises:
        CodegenError: what stopped the run, and what to add.
    """
    overlay = Overlay(root / "schema" / "overlay.toml")
    folders = sorted(path.parent for path in (root / "schema").glob("*/schema.json"))
    if not folders:
        raise CodegenError(
            f"no schema under {root / 'schema'}: run `nox -s schema -- REVISION` first"
        )
    revisions = [read(folder, overlay) for folder in folders]
    check_alike(revisions)
    documented = root / "schema" / "docs.toml"
    docs = Docs.load(documented) if documented.exists() else Docs(documented.name, {}, {})
    made = Generated(emit(revisions, overlay, docs), reference(revisions, overlay, docs))
    overlay.check_used()
    docs.check_used()
    for missing in docs.undocumented(revisions) if documented.exists() else ():
        print(f"undocumented: {missing}", file=sys.stderr)
    return made


def read(folder: Path, overlay: Overlay) -> Revision:
    """One revision's model, from its folder."""
    label = f"schema/{folder.name}/schema.json"
    source = load(folder / "schema.json", folder / "facts.toml", folder.name, label)
    check_facts(source.facts, source.definitions, source.revision)
    return build(source, normalize(source, overlay), overlay)


def _show(name: str, files: dict[Path, str], folder: Path) -> bool:
    """Write how a folder differs from what it should be; whether it does."""
    difference = tree.diff(files, folder)
    sys.stdout.write(difference)
    if difference:
        print(f"{name} is out of date: run `nox -s regen`", file=sys.stderr)
    return bool(difference)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m codegen",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="show a diff instead of writing")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: here)")
    parser.add_argument("--out", type=Path, help="where mcp_wire goes (default: ROOT/generated)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
