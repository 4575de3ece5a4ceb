"""Everything a developer runs. `nox -l` lists the sessions; arguments go after `--`."""

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str, project: bool = False) -> None:
    """Install dependency groups of pyproject.toml and, where it is needed, the project itself."""
    packages = nox.project.dependency_groups(PYPROJECT, *groups) if groups else ()
    session.install(*packages, *(["-e", "."] if project else []))


@nox.session
def schema(session: nox.Session) -> None:
    """Take up a published schema: `nox -s schema -- REVISION [--from FILE_OR_URL] [--pin]`."""
    install(session, "codegen")
    session.run("python", "-m", "codegen.schema_step", *session.posargs)


@nox.session
def regen(session: nox.Session) -> None:
    """Write generated/mcp_wire from schema/; `-- --check` shows what would change."""
    install(session, "codegen")
    session.run("python", "-m", "codegen", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format, the same rules for handwritten and generated code."""
    install(session, "codegen")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types strictly, with mypy and with pyright."""
    install(session, "codegen", "types", "test", "bench", project=True)
    session.run("mypy")
    session.run("pyright")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; `-- tests/core -k batch` narrows them."""
    install(session, "codegen", "test", project=True)
    session.run("python", "-m", "pytest", *session.posargs)
