"""Counts the MUST and SHOULD of every page of the specification.

The pages themselves are not kept here: `python -m tests.requirements.count CHECKOUT` takes those of
a checkout of the specification's repository, and compares them with what pages.toml says of the
commit that it names. With `--write` it takes them up, and names the CHECKOUT's commit.
"""

from __future__ import annotations

import hashlib
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.requirements.manifest import HERE, Page, pages, rows

__all__ = ["count", "main", "sections"]

_WORDS = re.compile(
    r"\b(?:MUST|SHOULD|SHALL|NOT RECOMMENDED|RECOMMENDED|REQUIRED)\b",
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def count(text: str) -> int:
    """How many words of the kind MUST and SHOULD a page has; MUST NOT is one of them."""
    plain = html.unescape(_TAG.sub(" ", text)).replace("*", "")
    return len(_WORDS.findall(" ".join(plain.split())))


def sections(text: str) -> set[str]:
    """The names by which links get to the headings of a page."""
    return {_slug(heading) for heading in _HEADING.findall(text)}


def _slug(heading: str) -> str:
    plain = _LINK.sub(r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def main(arguments: list[str]) -> int:
    """Compare, or take up with `--write`; 1 where something differs."""
    checkout = Path(next(word for word in arguments if not word.startswith("--")))
    texts = dict(_texts(checkout / pages().folder))
    if "--write" in arguments:
        _write(texts, _commit(checkout))
        return 0
    wrong = [*_changed(texts), *_missing_sections(texts)]
    print("\n".join(wrong) or f"{len(texts)} pages are as pages.toml says")
    return 1 if wrong else 0


def _texts(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Each page that has words to count, by revision and path."""
    for revision in sorted(pages().pages):
        for file in sorted((folder / revision).rglob("*.mdx")):
            path = file.relative_to(folder / revision).with_suffix("").as_posix()
            text = file.read_text("utf-8")
            if count(text):
                yield (revision, path.removesuffix("/index")), text


def _page(text: str) -> Page:
    return Page(count(text), hashlib.sha256(text.encode()).hexdigest())


def _changed(texts: dict[tuple[str, str], str]) -> Iterator[str]:
    kept = {
        (revision, path): page
        for revision, of in pages().pages.items()
        for path, page in of.items()
    }
    for key in sorted(texts.keys() | kept.keys()):
        found = _page(texts[key]) if key in texts else None
        if found != kept.get(key):
            yield f"{'/'.join(key)}: pages.toml has {kept.get(key)}, the checkout {found}"


def _missing_sections(texts: dict[tuple[str, str], str]) -> Iterator[str]:
    """Rows whose links lead nowhere."""
    for row in rows():
        for place in row.at:
            for revision in place.revisions:
                text = texts.get((revision, place.page), "")
                if place.section and place.section not in sections(text):
                    yield f"{row.id}: no section {place.link(revision)}"


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _write(texts: dict[tuple[str, str], str], commit: str) -> None:
    old = pages()
    lines = [
        "# The pages of the specification that say MUST or SHOULD: how often, and which text was",
        "# counted. `python -m tests.requirements.count CHECKOUT --write` writes these rows.",
        "",
        f'repository = "{old.repository}"',
        f'commit = "{commit}"',
        f'folder = "{old.folder}"',
    ]
    for revision in old.pages:
        lines += ["", f'[pages."{revision}"]']
        for (of, path), text in texts.items():
            if of == revision:
                page = _page(text)
                lines.append(f'"{path}" = {{ words = {page.words}, sha256 = "{page.sha256}" }}')
    (HERE / "pages.toml").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
