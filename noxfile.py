"""Development tasks. `nox -l` lists the sessions; arguments go after `--`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import nox

# uv where it is installed: it takes a quarter of the time.
nox.options.default_venv_backend = "uv|venv"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True
# A session that cannot run is no session that has passed.
nox.options.error_on_missing_interpreters = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
COMPILED = str(Path(".nox/compiled").resolve())
"""Folder of compiled modules, so that sessions write none beside the sources."""

CHROMIUM = Path("/usr/bin/chromium")
"""Debian's browser: no other is downloaded."""

PLUGIN = "pytest_mcp_gen.py"
"""The plugin of pytest: a module beside the packages, which a test run loads without them."""

OLDEST_PYTHON, *_, NEWEST_PYTHON = nox.project.python_versions(PYPROJECT)
"""Oldest and newest Python that the classifiers name."""

NIGHTLY = (
    "verify",
    "guides",
    "tests_newest",
    "tests_full",
    "tests_shuffled",
    "tests_loaded",
    "peers_full",
    "matrix",
    "conformance",
    "conformance_bridge",
    "conformance_cluster",
    "soak",
    "attack",
    "storm",
    "fuzz",
    "bench",
    "bench_peers",
    "mutants",
)
"""Sessions that take too long for each change."""

OF_THE_DAY = str(date.today().toordinal())
"""Seed of what runs otherwise each night; nox prints it with the command."""

MUTANTS_OF_A_NIGHT = ("--minutes", "60", "--seed", OF_THE_DAY)
"""Mutants come last, in what is left of the night."""


def install(session: nox.Session, *groups: str, project: bool = False) -> None:
    """Install dependency groups of pyproject.toml, and optionally the project itself.

    What is installed already is not looked at again until pyproject.toml changes; a session with
    `--reuse-venv=never` begins anew.
    """
    packages = nox.project.dependency_groups(PYPROJECT, *groups)
    build = [PYPROJECT["build-system"], PYPROJECT["project"], PYPROJECT["tool"]["hatch"]]
    metadata = build if project else []
    wanted = json.dumps([sorted(packages), metadata, str(Path.cwd())])
    installed = Path(session.virtualenv.location) / "installed.json"
    if installed.exists() and installed.read_text("utf-8") == wanted:
        return
    installed.unlink(missing_ok=True)
    session.install(*packages, *(["-e", "."] if project else []))
    installed.write_text(wanted, "utf-8")


def npm_install(session: nox.Session, source: str, *options: str) -> Path:
    """Copy a folder with a package.json to a scratch folder, and install its packages.

    What is installed already is not looked at again until a file of the folder changes.
    """
    folder = (Path(session.create_tmp()) / Path(source).name).resolve()
    left_out = {"node_modules", "__pycache__"}
    paths = [path for path in sorted(Path(source).rglob("*")) if not left_out & {*path.parts}]
    files = {str(path): path.read_text("utf-8") for path in paths if path.is_file()}
    wanted = json.dumps([files, options])
    installed = folder / "installed.json"
    if installed.exists() and installed.read_text("utf-8") == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--silent")
    session.run("npm", "install", "--prefix", str(folder), *quiet, *options)
    installed.write_text(wanted, "utf-8")
    return folder


def at_once(session: nox.Session) -> tuple[str, ...]:
    """Return the options that run tests on all processors, unless the arguments name a few tests.

    There is one process more than processors, because some tests only wait. Whoever is done takes
    tests of another: those that wait stand side by side. Folders are many tests; a file, a test or
    `-k` are few, which have ended before a second process has begun.
    """
    few = any(".py" in word or word.startswith(("-k", "-n")) for word in session.posargs)
    return () if few else ("-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")


def run_tests(session: nox.Session, *words: str, **options: Any) -> None:
    """Run pytest, which keeps its compiled test modules: half of a start is compiling them."""
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": COMPILED}
    environment |= options.pop("env", {})
    session.run("python", "-m", "pytest", *words, env=environment, **options)


@nox.session
def schema(session: nox.Session) -> None:
    """Import a published schema: `nox -s schema -- REVISION [--from FILE_OR_URL] [--pin]`."""
    install(session, "codegen")
    session.run("python", "-m", "codegen.schema.step", *session.posargs)


@nox.session
def regen(session: nox.Session) -> None:
    """Write generated/mcp_wire and docs/reference from schema/; `-- --check` shows a diff.

    `-- --verify` then compares what the types do with the schemas, on 100,000 instances.
    """
    install(session, "codegen")
    session.run("python", "-m", "codegen", *session.posargs)


@nox.session
def verify(session: nox.Session) -> None:
    """Compare the generated types with the schemas on 500,000 instances; `-- 1000 --seed 7`."""
    install(session, "codegen")
    count = session.posargs or ["500000"]
    session.run("python", "-m", "codegen", "--check", "--verify", *count)


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
    run_tests(session, "tests/typing", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; `-- tests/core -k batch` narrows them."""
    if not sys.version.startswith(f"{OLDEST_PYTHON}."):
        session.warn(f"budgets of memory are counted on Python {OLDEST_PYTHON}, and skipped here")
    install(session, "codegen", "test", project=True)
    run_tests(session, *at_once(session), *session.posargs)


@nox.session
def tests_full(session: nox.Session) -> None:
    """Run the tests of requirements over every transport at every revision, and all others."""
    install(session, "codegen", "test", project=True)
    run_tests(session, "--full", *at_once(session), *session.posargs)


@nox.session
def tests_shuffled(session: nox.Session) -> None:
    """Run the tests in a random order in asyncio's debug mode; `-- --shuffle 7` repeats one."""
    install(session, "codegen", "test", project=True)
    order = () if "--shuffle" in session.posargs else ("--shuffle", OF_THE_DAY)
    words = (*at_once(session), *order, *session.posargs)
    run_tests(session, *words, env={"PYTHONASYNCIODEBUG": "1"})


@nox.session
def tests_loaded(session: nox.Session) -> None:
    """Run the tests under coverage.py on processors with four times as much to do."""
    install(session, "codegen", "test", project=True)
    folder = Path(session.create_tmp()).resolve()
    for old in folder.glob("coverage*"):
        old.unlink()
    data = {"COVERAGE_FILE": str(folder / "coverage")}
    # For the tests alone: coverage.py would measure its own report, too.
    measured = {**data, "COVERAGE_PROCESS_START": str(Path("pyproject.toml").resolve())}
    loop = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(loop) for _ in range(3 * (os.cpu_count() or 1))]
    try:
        run_tests(session, *at_once(session), *session.posargs, env=measured)
    finally:
        for one in loops:
            one.kill()
            one.wait()
    session.run("coverage", "combine", "--quiet", env=data)
    session.run("coverage", "report", "--skip-covered", "--sort=cover", env=data)


@nox.session(python=NEWEST_PYTHON)
def tests_newest(session: nox.Session) -> None:
    """Run the tests on the newest supported Python; arguments as for `tests`."""
    install(session, "codegen", "test", project=True)
    run_tests(session, *at_once(session), *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run soak tests: sessions for 30 s, HTTP and kills for 10 minutes, a manager for 1 minute.

    `-- http --seconds 30` runs one of them, or for a shorter time.
    """
    install(session, "test", project=True)
    kinds = ["memory", "http", "manager", "kills"]
    for words in [session.posargs] if session.posargs else [[kind] for kind in kinds]:
        session.run("python", "-m", "tests.soak", *words)


@nox.session
def attack(session: nox.Session) -> None:
    """Attack a running server and a running client, and measure what others feel: `-- --help`.

    `-- --smoke` makes each attack once and shows the figures, without limits of time.
    """
    install(session, "test", project=True)
    session.run("python", "-m", "tests.attack", *session.posargs)


@nox.session
def cluster(session: nox.Session) -> None:
    """Test clusters with a redis-server and an nginx, which are started; then a storm of 30 s.

    `-- tests/cluster/redis` runs some of the tests, `-- --seconds 10 --seed 7` a storm alone.
    Without the two programs tests are skipped, and there is no storm; in CI that is a failure.
    """
    install(session, "test", "peers", project=True)
    is_storm = any(word.startswith("--") for word in session.posargs)
    if not is_storm:
        run_tests(session, *(session.posargs or ("tests/cluster", "tests/storm")))
    if is_storm or not session.posargs:
        words = session.posargs or ("--seconds", "30")
        session.run("python", "-m", "tests.storm", *words)


@nox.session
def storm(session: nox.Session) -> None:
    """Run five storms of 90 s over a cluster, and one with each sabotage; `-- --help`."""
    install(session, "test", "peers", project=True)
    runs = [["--runs", "5"], ["--sabotage", "all"]]
    for words in [session.posargs] if session.posargs else runs:
        session.run("python", "-m", "tests.storm", *words)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Send a million made up and broken messages to every surface: `-- --help`.

    `-- --seconds 30` sends as many as the time allows; a second run goes on where the first one
    stopped.
    """
    install(session, "codegen", "test", project=True)
    session.run("python", "-m", "tests.fuzz", *session.posargs)


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
    run_peers(session, *session.posargs)


@nox.session
def peers_full(session: nox.Session) -> None:
    """Run `peers`; examine all servers of others with the doctor, and compare with the suite."""
    run_peers(session, "--full", *session.posargs)


def run_peers(session: nox.Session, *words: str) -> None:
    """Install the peers of others, and run the tests that talk with them."""
    # Type checkers and ruff judge the stubs of servers of others.
    install(session, "test", "peers", "node", "types", "codegen", project=True)
    environment = {
        "PEERS_TYPESCRIPT": str(npm_install(session, "tests/peers/typescript")),
        "PEERS_SERVERS": str(npm_install(session, "tests/peers/servers")),
        "PEERS_EXAMINED": str(npm_install(session, "tests/peers/examined")),
        "PEERS_OIDC": str(npm_install(session, "tests/peers/auth/oidc")),
        # Its command line needs none of what only its pages are built with.
        "PEERS_INSPECTOR": str(npm_install(session, "tests/peers/inspector", "--omit=optional")),
    }
    if "--full" in words:
        environment["PEERS_SUITE"] = str(npm_install(session, "tests/conformance/suite"))
    # What a client saw in its one run, many tests look at: they stay in one process.
    groups = () if session.posargs else ("--dist", "loadgroup")
    folders = ("tests/peers", "tests/everyday/migration")
    run_tests(session, *folders, *at_once(session), *groups, *words, env=environment)


@nox.session
def matrix(session: nox.Session) -> None:
    """Run four servers against four clients, and write docs/matrix.html; arguments narrow it."""
    install(session, "node", project=True)
    page = () if session.posargs else ("--html", "docs/matrix.html", "--fail-on", "never")
    folder = ("--folder", session.create_tmp())
    session.run(
        "mcp-gen", "matrix", "examples/matrix/matrix.toml", *folder, *page, *session.posargs
    )


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite; `-- --leg client`, `--newest` and names narrow it."""
    install(session, "node", "oauth", project=True)
    folder = npm_install(session, "tests/conformance/suite")
    module = ("python", "-m", "tests.conformance.run")
    session.run(*module, "--suite", str(folder), *session.posargs)


@nox.session
def conformance_bridge(session: nox.Session) -> None:
    """Run the suite's server leg through a bridge to servers of one revision each."""
    install(session, "node", project=True)
    folder = npm_install(session, "tests/conformance/suite")
    module = ("python", "-m", "tests.conformance.run")
    for revision in ("2025-11-25", "2026-07-28"):
        session.run(*module, "--suite", str(folder), "--bridge", revision, *session.posargs)


@nox.session
def conformance_cluster(session: nox.Session) -> None:
    """Run the suite's server leg over two nodes that share a Redis, behind a round robin."""
    install(session, "node", "test", project=True)
    folder = npm_install(session, "tests/conformance/suite")
    module = ("python", "-m", "tests.conformance.run")
    session.run(*module, "--suite", str(folder), "--cluster", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Test pages in Debian's Chromium, which is installed if it is missing (as root)."""
    install(session, "test", "browser", project=True)
    if not CHROMIUM.exists():
        apt, env = ("apt-get", "--quiet=2"), {"DEBIAN_FRONTEND": "noninteractive"}
        package = ("install", "--yes", "--no-install-recommends", "chromium")
        session.run(*apt, "update", external=True)
        session.run(*apt, *package, external=True, env=env)
    run_tests(session, *(session.posargs or ("tests/browser",)))


@nox.session
def demo(session: nox.Session) -> None:
    """Call the quickstart server at every revision and check every frame."""
    install(session, project=True)
    session.run("mcp-gen", "demo", *session.posargs)


@nox.session(reuse_venv=False)
def wheel(session: nox.Session) -> None:
    """Build the wheel from the sdist, compare it with the checkout, and try it elsewhere.

    Its modules are byte for byte those of the checkout, which all other sessions test: only what a
    wheel can break is tested here. `-- tests/server` tests more.
    """
    _install_wheel(session)
    # With nothing but the wheel and its dependencies.
    session.run("mcp-gen", "demo")
    session.install(*nox.project.dependency_groups(PYPROJECT, "test", "codegen"))
    chosen = session.posargs or ("tests/test_public_api.py", "tests/wire/test_imports.py")
    run_tests(session, *at_once(session), *chosen)
    # The plugin as its users have it: found by its entry point, in a project of theirs.
    with session.chdir("examples/testing"):
        run_tests(session, "-q", "--mcp-over=memory", "--mcp-html=report.html")


@nox.session(reuse_venv=False)
def guides(session: nox.Session) -> None:
    """Run the programs and commands of the guides as printed, each in a process, with the wheel."""
    _install_wheel(session)
    session.install(*nox.project.dependency_groups(PYPROJECT, "test"))
    # A reader's folder is not below this project, whose settings pytest would take.
    env = {"TMPDIR": tempfile.gettempdir()}
    run_tests(session, "--full", "tests/docs", *session.posargs, env=env)


def _install_wheel(session: nox.Session) -> None:
    """Build the wheel, install it, and go to a folder with tests and docs, but no package."""
    scratch = Path(session.create_tmp()).resolve()
    dist, elsewhere = scratch / "dist", scratch / "elsewhere"
    for folder in (dist, elsewhere):
        shutil.rmtree(folder, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    (built,) = dist.glob("*.whl")
    _compare_with_checkout(session, built)
    session.install(str(built))
    # The tests compare with the schemas, the generator's model of them, and what docs show.
    for name in ("tests", "examples", "schema", "codegen", "docs"):
        shutil.copytree(name, elsewhere / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(name, elsewhere)
    session.chdir(elsewhere)


def _compare_with_checkout(session: nox.Session, built: Path) -> None:
    """Fail unless the wheel has every module of the checkout, unchanged, and no other file."""
    sources = {
        path.relative_to(root).as_posix(): path
        for root, package in ((Path(), "mcp_gen"), (Path("generated"), "mcp_wire"))
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    sources[PLUGIN] = Path(PLUGIN)
    forced = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for outside, inside in forced.items():
        folder, target = Path(outside), Path(inside)
        within = folder.rglob("*") if folder.is_dir() else (folder,)
        sources |= {
            (target / path.relative_to(folder)).as_posix(): path
            for path in within
            if path.is_file() and "__pycache__" not in path.parts
        }
    with ZipFile(built) as archive:
        packed = {
            name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name
        }
    wrong = sorted(
        name
        for name in sources.keys() | packed.keys()
        if name not in sources or packed.get(name) != sources[name].read_bytes()
    )
    if wrong:
        session.error(f"{built.name} differs from the checkout: {', '.join(wrong)}")


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks against bare programs; `-- --quick` or `-- --smoke` for a short run.

    `-- curves`, `-- steps` and `-- pages` are commands of their own: see docs/benchmarks.
    """
    install(session, "bench", project=True)
    session.run("python", "-m", "bench", *session.posargs)
    if session.posargs == ["--smoke"]:
        for name in ("curves", "steps"):
            session.run("python", "-m", "bench", name, "--smoke")


@nox.session
def bench_peers(session: nox.Session) -> None:
    """Compare servers and clients with those of other SDKs: `-- --help`."""
    install(session, "bench", "node", project=True)
    folder = npm_install(session, "bench/peers/programs/typescript")
    session.run(
        "python", "-m", "bench", "peers", *session.posargs, env={"BENCH_TYPESCRIPT": str(folder)}
    )


@nox.session(reuse_venv=False)
def release(session: nox.Session) -> None:
    """Build and check the release of pyproject.toml's version; `-- 0.2.0` insists on it.

    Builds sdist and wheel, checks both, installs the wheel alone and runs the demo with it. Prints
    the changelog section. Uploads nothing.
    """
    changes = ("python", "-m", "tests.release", *session.posargs)
    # First: a release that is not described is not built.
    session.run(*changes, silent=True)
    install(session, "release")
    scratch = Path(session.create_tmp()).resolve()
    dist = scratch / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    version = PYPROJECT["project"]["version"]
    wheel, sdist = dist / f"mcp_gen-{version}-py3-none-any.whl", dist / f"mcp_gen-{version}.tar.gz"
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    # Two packages and a module at the top: W010 and W009 are about strays, and there are no more.
    toplevel = ("--toplevel", "mcp_gen,mcp_wire,pytest_mcp_gen.py")
    session.run("check-wheel-contents", *toplevel, str(wheel))
    _lint_unpacked(session, sdist, scratch / "unpacked")
    _demo_alone(session, wheel, scratch / "bare")
    session.run(*changes)
    session.log(f"{wheel.name} and {sdist.name} are in {dist}; nothing was uploaded")


def _lint_unpacked(session: nox.Session, sdist: Path, folder: Path) -> None:
    """Run `nox -s lint` in the unpacked sdist, which must have all that the noxfile names."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(sdist, folder, filter="data")
    (source,) = folder.iterdir()
    with session.chdir(source):
        session.run("python", "-m", "nox", "--error-on-missing-interpreters", "-s", "lint")
        session.run("python", "-m", "nox", "--list", silent=True)


def _demo_alone(session: nox.Session, wheel: Path, folder: Path) -> None:
    """Run the demo where nothing but the wheel and its dependencies is installed."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "venv", str(folder / "venv"))
    python = folder / "venv/bin/python"
    session.run(str(python), "-m", "pip", "install", "--quiet", str(wheel), external=True)
    # Away from the checkout, whose packages would be imported instead.
    with session.chdir(folder):
        session.run(str(python.with_name("mcp-gen")), "demo", external=True)


@nox.session(venv_backend="none")
def nightly(session: nox.Session) -> None:
    """Run what takes long: self-test, guides, newest Python, all tests, soak, fuzz, benchmarks."""
    for name in NIGHTLY:
        session.notify(name, posargs=MUTANTS_OF_A_NIGHT if name == "mutants" else ())
