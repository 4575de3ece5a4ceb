"""`python -m codegen`: writes `generated/mcp_wire` from `schema/`, or shows what would change."""

import argparse
import sys
import time
from pathlib import Path

from codegen import tree
from codegen.build import build
from codegen.docs import Docs
from codegen.emit import emit
from codegen.errors import CodegenError
from codegen.facts import check_alike, check_facts
from codegen.ir import Revision
from codegen.load import load
from codegen.normalize import Normalized, normalize
from codegen.overlay import Overlay

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
        files = generate(options.root)
        if options.check:
            difference = tree.diff(files, options.out or options.root / "generated")
            sys.stdout.write(difference)
            if difference:
                print("generated/ is out of date: run `nox -s regen`", file=sys.stderr)
            return 1 if difference else 0
        changed = tree.write(files, options.out or options.root / "generated")
    except CodegenError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(f"wrote {path}")
    print(f"{len(files)} files, {len(changed)} changed, {time.perf_counter() - started:.1f} s")
    return 0


def generate(root: Path) -> dict[Path, str]:
    """Every file of the generated package, from the inputs under `root/schema`.

    Raises:
        CodegenError: what stopped the run, and what to add.
    """
    overlay = Overlay(root / "schema" / "overlay.toml")
    folders = sorted(path.parent for path in (root / "schema").glob("*/schema.json"))
    if not folders:
        raise CodegenError(
            f"no schema under {root / 'schema'}: run `nox -s schema -- REVISION` first"
        )
    inputs = [take_in(folder, overlay) for folder in folders]
    revisions = [revision for revision, _ in inputs]
    check_alike(revisions)
    documented = root / "schema" / "docs.toml"
    docs = Docs.load(documented) if documented.exists() else Docs(documented.name, {}, {})
    files = emit(revisions, [normalized.definitions for _, normalized in inputs], overlay, docs)
    overlay.check_used()
    docs.check_used()
    for missing in docs.undocumented(revisions) if documented.exists() else ():
        print(f"undocumented: {missing}", file=sys.stderr)
    return files


def read(folder: Path, overlay: Overlay) -> Revision:
    """One revision's model, from its folder."""
    return take_in(folder, overlay)[0]


def take_in(folder: Path, overlay: Overlay) -> tuple[Revision, Normalized]:
    """One revision's model, and the normalised schema that it was built from."""
    label = f"schema/{folder.name}/schema.json"
    source = load(folder / "schema.json", folder / "facts.toml", folder.name, label)
    check_facts(source.facts, source.definitions, source.revision)
    normalized = normalize(source, overlay)
    return build(source, normalized, overlay), normalized


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
