"""Counts the MUST and SHOULD of every page of the specification.

The pages themselves are not kept here: `python -m tests.requirements.count CHECKOUT` reads those of
a checkout of the specification's repository, and compares them with the counts in pages.toml of the
commit that it names. `CHECKOUT=NAME` is a checkout of the extension of that name; there can be
several. With `--write` it updates the counts, and the commits of the checkouts.
"""

from __future__ import annotations

import hashlib
import html
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from mcp_gen.compat.requirements.manifest import HERE, Extension, Page, Pages, pages, rows

__all__ = ["count", "main", "sections"]

_WORDS = re.compile(
    r"\b(?:MUST|SHOULD|SHALL|NOT RECOMMENDED|RECOMMENDED|REQUIRED)\b",
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def count(text: str) -> int:
    """Return the number of MUST and SHOULD words in a page; MUST NOT is one of them."""
    plain = html.unescape(_TAG.sub(" ", text)).replace("*", "")
    return len(_WORDS.findall(" ".join(plain.split())))


def sections(text: str) -> set[str]:
    """Return the link anchors of a page's headings."""
    return {_slug(heading) for heading in _HEADING.findall(text)}


def _slug(heading: str) -> str:
    plain = _LINK.sub(r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def main(arguments: list[str]) -> int:
    """Compare the counts, or update them with `--write`; return 1 if something differs."""
    words = [word for word in arguments if not word.startswith("--")]
    checkouts = {name: Path(path) for path, _, name in (word.partition("=") for word in words)}
    texts = {
        key: text for name, path in checkouts.items() for key, text in _texts(path, name).items()
    }
    if "--write" in arguments:
        _write(_taken_up(checkouts, texts))
        return 0
    wrong = [*_changed(texts, _names(checkouts)), *_missing_sections(texts, _names(checkouts))]
    print("\n".join(wrong) or f"{len(texts)} pages are as pages.toml says")
    return 1 if wrong else 0


def _names(checkouts: Iterable[str]) -> set[str]:
    """Return the revisions or extensions of the checkouts; without a name, all revisions."""
    return {one for name in checkouts for one in ([name] if name else pages().pages)}


def _texts(checkout: Path, name: str) -> dict[tuple[str, str], str]:
    """Return each page of a checkout with words to count, by revision or extension, and path."""
    found: dict[tuple[str, str], str] = {}
    folder = checkout / (pages().extensions[name] if name else pages()).folder
    for text in sorted(_names([name])):
        root, suffix = (folder, ".md") if name else (folder / text, ".mdx")
        for file in sorted(root.rglob(f"*{suffix}")):
            path = file.relative_to(root).with_suffix("").as_posix()
            if count(said := file.read_text("utf-8")):
                found[text, path.removesuffix("/index")] = said
    return found


def _page(text: str) -> Page:
    return Page(count(text), hashlib.sha256(text.encode()).hexdigest())


def _changed(texts: dict[tuple[str, str], str], names: set[str]) -> Iterator[str]:
    kept = {(name, path): page for name in names for path, page in pages().texts[name].items()}
    for key in sorted(texts.keys() | kept.keys()):
        found = _page(texts[key]) if key in texts else None
        if found != kept.get(key):
            yield f"{'/'.join(key)}: pages.toml has {kept.get(key)}, the checkout {found}"


def _missing_sections(texts: dict[tuple[str, str], str], names: set[str]) -> Iterator[str]:
    """Return the rows whose links lead nowhere."""
    for row in rows():
        for place in row.at:
            for name in names.intersection(place.texts):
                text = texts.get((name, place.page), "")
                if place.section and place.section not in sections(text):
                    yield f"{row.id}: no section {place.link(name)}"


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _taken_up(checkouts: dict[str, Path], texts: dict[tuple[str, str], str]) -> Pages:
    """Return the new content of pages.toml."""

    def of(name: str) -> dict[str, Page]:
        return {path: _page(text) for (one, path), text in texts.items() if one == name}

    made = pages()
    for name, checkout in checkouts.items():
        if name:
            extension = replace(made.extensions[name], commit=_commit(checkout), pages=of(name))
            made = replace(made, extensions={**made.extensions, name: extension})
        else:
            found = {revision: of(revision) for revision in made.pages}
            made = replace(made, commit=_commit(checkout), pages=found)
    return made


def _write(made: Pages) -> None:
    lines = [
        "# The pages of the specification that say MUST or SHOULD: how often, and which text was",
        "# counted. `python -m tests.requirements.count CHECKOUT --write` writes these rows, and",
        "# with CHECKOUT=NAME those of an extension.",
        "",
        *_source(made),
    ]
    for revision, of in made.pages.items():
        lines += ["", f'[pages."{revision}"]', *_lines(of)]
    for name, extension in made.extensions.items():
        lines += ["", f"[extensions.{name}]", *_source(extension)]
        lines += ["", f"[extensions.{name}.pages]", *_lines(extension.pages)]
    (HERE / "pages.toml").write_text("\n".join(lines) + "\n", "utf-8")


def _source(of: Pages | Extension) -> list[str]:
    said = {"repository": of.repository, "commit": of.commit, "folder": of.folder}
    return [f'{name} = "{value}"' for name, value in said.items()]


def _lines(of: dict[str, Page]) -> Iterator[str]:
    for path, page in of.items():
        yield f'"{path}" = {{ words = {page.words}, sha256 = "{page.sha256}" }}'


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
