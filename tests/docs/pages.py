"""Pages of docs/ as programs and transcripts: read, run and filled in.

A Python block follows a comment with its file, `<!-- docs/snippets/tools/first.py -->`, and is
that file to the letter. A console block that begins with `$ ` is a transcript: its commands run in
a copy of the page's folder of snippets, one after the other, and print what the page shows. `...`
on a line of its own stands for any lines, within a line for any characters. A command that ends
with `&` goes on until the page ends. The ports of `PORTS` stand for free ones, in programs too.
The user's data are kept beside the snippets, and `browser.py` makes the logins. Tests run the first
`mcp-gen` command of a page in a process of its own, and the others in copies of one that has
loaded Python already (`warm.py`); with `--full` all have their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.ports import free_port

if TYPE_CHECKING:
    from tests.docs.warm import WarmProcess

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SNIPPETS = DOCS / "snippets"
TIME_LIMIT_S = 60

_BLOCK = re.compile(r"(?:^<!-- (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
PORTS = ("8000", "8001", "8002", "9000", "6379")
"""Ports of transcripts. A command that names none listens at the first."""
_PORT = re.compile(rf"\b(?:{'|'.join(PORTS)})\b")
_LISTENS = re.compile(r"--port (\d+)")
_SHELL = re.compile(r"[|&;<>$`\\*~]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    path: str | None
    """File that the block shows."""
    line: int

    @property
    def is_transcript(self) -> bool:
        """Return True for commands with what they print."""
        return self.language == "console" and self.text.startswith("$ ")


@dataclass(frozen=True)
class Command:
    """A command of a transcript, and what it prints."""

    words: str
    printed: str


def pages() -> list[Path]:
    """Return the pages that people read: the README and docs/, without the generated reference."""
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Block(one[2], one[3], one[1], text.count("\n", 0, one.start()) + 1)
        for one in _BLOCK.finditer(text)
    ]


def commands(block: Block) -> list[Command]:
    """Return the commands of a transcript."""
    parts = re.split(r"^\$ ", block.text, flags=re.M)[1:]
    found: list[Command] = []
    for part in parts:
        words, _, printed = part.partition("\n")
        while words.endswith("\\"):
            more, _, printed = printed.partition("\n")
            words = f"{words[:-1].rstrip()} {more.strip()}"
        found.append(Command(words, printed))
    return found


def says(printed: str, shown: str) -> bool:
    """Return True if a command printed what a page shows."""
    pattern = ""
    for line in shown.strip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(printed))) is not None


def _trimmed(printed: str) -> list[str]:
    """Return the lines of a text without space at their ends, and without empty ones around."""
    lines = "\n".join(line.rstrip() for line in printed.split("\n"))
    return lines.strip("\n").split("\n")


def is_plain(words: str) -> bool:
    """Return True for an `mcp-gen` command in which a shell has nothing to replace."""
    return words.startswith("mcp-gen ") and not _SHELL.search(words)


def environment() -> dict[str, str]:
    """Return the environment of every command."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # Colours and the width of a terminal do not depend on who runs it.
    shown = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
    # pytest-asyncio, where it is installed, warns of settings that no page has.
    shown["PYTEST_ADDOPTS"] = "-p no:asyncio -p pytest_mcp_gen"
    # In CI pytest shortens no line of its summary; in its debug mode asyncio logs what is slow.
    left_out = {"CI", "PYTHONASYNCIODEBUG"}
    given = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**given, **shown, "PATH": path}


def variables(folder: Path) -> dict[str, str]:
    """Return the variables that are the folder's own: the user's data, and the browser.

    Args:
        folder: Folder that commands run in.
    """
    browser = shlex.join([sys.executable, str(Path(__file__).with_name("browser.py"))])
    return {"XDG_DATA_HOME": str(folder / "user-data"), "BROWSER": f"{browser} %s"}


@dataclass
class Shell:
    """Runs the commands of one page in a folder."""

    folder: Path
    ports: dict[str, str]
    """Free ports by those that a page shows."""
    warm: WarmProcess | None = None
    """Runs plain `mcp-gen` commands but the first; None: each has a process of its own."""
    ran: int = 0
    """Number of plain `mcp-gen` commands that have run."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list["subprocess.Popen[bytes]"])

    def run(self, command: str) -> str:
        """Run a command and return what it printed, errors included."""
        words = self.at_free_ports(command)
        if words.endswith("&"):
            self._start(words[:-1])
            return ""
        if is_plain(words):
            self.ran += 1
            if self.warm is not None and self.ran > 1:
                printed = self.warm.run(shlex.split(words), self.folder)
                return self._as_shown(printed)
        ran = subprocess.run(
            ["/bin/sh", "-c", words],
            cwd=self.folder,
            env={**environment(), **variables(self.folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        return self._as_shown(ran.stdout)

    def at_free_ports(self, text: str) -> str:
        """Return a text of a page with the ports that are free."""
        return _PORT.sub(lambda shown: self.ports[shown[0]], text)

    def _as_shown(self, printed: str) -> str:
        for shown, port in self.ports.items():
            printed = re.sub(rf"\b{port}\b", shown, printed)
        return printed

    def _start(self, words: str) -> None:
        told = _LISTENS.search(words)
        port = int(told[1] if told else self.ports[PORTS[0]])
        self.started.append(
            subprocess.Popen(
                ["/bin/sh", "-c", f"exec {words}"],
                cwd=self.folder,
                env={**environment(), **variables(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        deadline = time.monotonic() + TIME_LIMIT_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert self.started[-1].poll() is None, f"it ended: {words}"
            assert time.monotonic() < deadline, f"it does not listen: {words}"
            time.sleep(0.05)  # between two looks of a bounded wait: a port tells nobody

    def close(self) -> None:
        """End what goes on."""
        for process in self.started:
            process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def shell(page: Path, folder: Path, warm: WarmProcess | None = None) -> Generator[Shell]:
    """Give a shell in a copy of the snippets of a page.

    Args:
        page: The page.
        folder: Folder of the copy.
        warm: See `Shell.warm`.
    """
    if page.parent == ROOT or _uses_examples(page):
        shutil.copytree(ROOT / "examples", folder / "examples")
    snippets = SNIPPETS / page.stem
    if snippets.is_dir():
        shutil.copytree(snippets, folder, dirs_exist_ok=True)
    opened = Shell(folder, free_ports(), warm)
    for program in folder.glob("*.py"):
        program.write_text(opened.at_free_ports(program.read_text("utf-8")), "utf-8")
    try:
        yield opened
    finally:
        opened.close()


def _uses_examples(page: Path) -> bool:
    if not page.is_file():
        return False
    shown = [one for block in blocks(page) if block.is_transcript for one in commands(block)]
    return any("-m examples." in one.words for one in shown)


def free_ports() -> dict[str, str]:
    """Return a free port for each of `PORTS`."""
    return {port: str(free_port()) for port in PORTS}


def filled_in(page: Path, folder: Path) -> str:
    """Return the text of a page with its files, and with what its commands print now."""
    with shell(page, folder) as opened:

        def fill(match: re.Match[str]) -> str:
            path, language, text = match.groups()
            head = f"<!-- {path} -->\n" if path else ""
            block = Block(language, text, path, 0)
            if path:
                text = (ROOT / path).read_text("utf-8")
            elif block.is_transcript:
                text = "".join(_run_again(opened, command) for command in commands(block))
            return f"{head}```{language}\n{text}```"

        return _BLOCK.sub(fill, page.read_text("utf-8"))


def _run_again(opened: Shell, command: Command) -> str:
    printed = opened.run(command.words)
    if says(printed, command.printed):
        printed = command.printed
    lines = _trimmed(printed) if printed.strip() else []
    return "".join(f"{line}\n" for line in (f"$ {command.words}", *lines))
