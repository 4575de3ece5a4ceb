"""Development tasks. `nox -l` lists the sessions; arguments go after `--`."""

import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str, project: bool = False) -> None:
    """Install dependency groups of pyproject.toml, and optionally the project itself."""
    packages = nox.project.dependency_groups(PYPROJECT, *groups)
    session.install(*packages, *(["-e", "."] if project else []))


def npm_install(session: nox.Session, source: str, *options: str) -> Path:
    """Copy a folder with a package.json to a scratch folder, and install its packages."""
    folder = (Path(session.create_tmp()) / Path(source).name).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--silent")
    session.run("npm", "install", "--prefix", str(folder), *quiet, *options)
    return folder


def at_once(session: nox.Session) -> tuple[str, ...]:
    """Return the options that run tests on all processors, unless the arguments select tests."""
    return () if session.posargs else ("-n", "auto")


@nox.session
def schema(session: nox.Session) -> None:
    """Import a published schema: `nox -s schema -- REVISION [--from FILE_OR_URL] [--pin]`."""
    install(session, "codegen")
    session.run("python", "-m", "codegen.schema.step", *session.posargs)


@nox.session
def regen(session: nox.Session) -> None:
    """Write generated/mcp_wire and docs/reference from schema/; `-- --check` shows a diff."""
    install(session, "codegen")
    session.run("python", "-m", "codegen", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format: the same rules for handwritten and generated code."""
    install(session, "codegen")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types strictly, with mypy and with pyright."""
    install(session, "codegen", "types", "test", "bench", project=True)
    session.run("mypy")
    session.run("pyright")
    session.run("python", "-m", "pytest", "tests/typing", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; `-- tests/core -k batch` narrows them."""
    install(session, "codegen", "test", project=True)
    session.run("python", "-m", "pytest", *at_once(session), *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run soak tests: sessions for 30 s, HTTP for 10 minutes, a manager for 1 minute.

    `-- http --seconds 30` runs one of them, or for a shorter time.
    """
    install(session, "test", project=True)
    for words in [session.posargs] if session.posargs else [["memory"], ["http"], ["manager"]]:
        session.run("python", "-m", "tests.soak", *words)


@nox.session
def mutants(session: nox.Session) -> None:
    """Put small faults into the sources and run the tests that reach them: `-- --help`.

    `-- --count 150 --seed 7` chooses the faults; a second run goes on where the first one stopped.
    """
    install(session, "codegen", "test", project=True)
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    """Test against the official SDKs, third-party servers and the MCP Inspector."""
    install(session, "test", "peers", "node", project=True)
    environment = {
        "PEERS_TYPESCRIPT": str(npm_install(session, "tests/peers/typescript")),
        "PEERS_SERVERS": str(npm_install(session, "tests/peers/servers")),
        # Its command line needs none of what only its pages are built with.
        "PEERS_INSPECTOR": str(npm_install(session, "tests/peers/inspector", "--omit=optional")),
    }
    # What a client saw in its one run, many tests look at: they stay in one process.
    groups = () if session.posargs else ("--dist", "loadgroup")
    words = ("tests/peers", *at_once(session), *groups, *session.posargs)
    session.run("python", "-m", "pytest", *words, env=environment)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite; `-- --leg client` and names narrow it."""
    install(session, "node", project=True)
    folder = npm_install(session, "tests/conformance/suite")
    module = ("python", "-m", "tests.conformance.run")
    session.run(*module, "--suite", str(folder), *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Call the quickstart server at every revision and check every frame."""
    session.install("-e", ".")
    session.run("mcp-gen", "demo", *session.posargs)


@nox.session(reuse_venv=False)
def wheel(session: nox.Session) -> None:
    """Build the wheel from the sdist, install it alone, and run the tests that need no checkout."""
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    (built,) = dist.glob("*.whl")
    install(session, "test", "codegen")
    session.install("--force-reinstall", str(built))
    elsewhere = Path(session.create_tmp()) / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    # The tests compare with the schemas, the generator's model of them, and what docs show.
    for folder in ("tests", "examples", "schema", "codegen", "docs"):
        shutil.copytree(folder, elsewhere / folder)
    shutil.copy("pyproject.toml", elsewhere)
    session.chdir(elsewhere)
    session.run("mcp-gen", "demo")
    # What is about the checkout itself stays out: its generated tree, its sources, its README.
    session.run(
        "python",
        "-m",
        "pytest",
        *at_once(session),
        "--ignore=tests/codegen",
        "--ignore=tests/test_architecture.py",
        "--ignore=tests/test_dependencies.py",
        "--ignore=tests/test_docstrings.py",
        "--ignore=tests/test_readme.py",
        "--ignore=tests/test_rooms.py",
        *session.posargs,
    )


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks against bare programs; `-- --quick` for a short run."""
    install(session, "bench", project=True)
    session.run("python", "-m", "bench", *session.posargs)
