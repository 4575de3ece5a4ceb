"""Three nodes, their Redis and an nginx before them: `python examples/cluster/run.py [PORT]`.

Ctrl-C ends everything. Needs `redis-server` and `nginx` (Debian: `apt-get install redis-server
nginx`), and `pip install "mcp-gen[redis]"`.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
HOST = "127.0.0.1"
NODES = 3
SIGNALS = (signal.SIGINT, signal.SIGTERM)
STARTS_S = 60.0
ENDS_S = 10.0


def main() -> None:
    """Start everything, and end it all with Ctrl-C or SIGTERM."""
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    front, back, *ports = free_ports(NODES + 2)
    front = asked or front
    with tempfile.TemporaryDirectory(prefix="cluster-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        # nginx gives its work to a user of its own if root has started it.
        folder.chmod(0o755)
        quiet = ("--loglevel", "warning")
        redis = ("redis-server", "--port", str(back), "--bind", HOST, "--dir", name)
        start(stack, back, *redis, "--appendonly", "yes", "--save", "", *quiet)
        serve = ("mcp-gen", "run", str(HERE / "server.py"), "--http")
        url = f"redis://{HOST}:{back}"
        for port in ports:
            start(stack, port, *serve, "--port", str(port), "--cluster", url, wait=False)
        for port in ports:
            wait_for(port)
        config = folder / "nginx.conf"
        config.write_text(balancer(folder, front, ports), "utf-8")
        start(stack, front, "nginx", "-e", f"{folder}/nginx.log", "-c", str(config))
        print(f"http://{HOST}:{front}/mcp", flush=True)
        signal.pause()


def balancer(folder: Path, port: int, nodes: list[int]) -> str:
    """Return the settings of nginx."""
    lines = "\n".join(f"        server {HOST}:{node};" for node in nodes)
    text = Template((HERE / "nginx.conf").read_text("utf-8"))
    return text.substitute(folder=folder, host=HOST, port=port, nodes=lines)


def start(stack: contextlib.ExitStack, port: int, *words: str, wait: bool = True) -> None:
    """Start a program that listens on a port, and end it with the stack."""
    places = (str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin")
    path = os.pathsep.join(places)
    program = shutil.which(words[0], path=path)
    if program is None:
        raise SystemExit(f"{words[0]} is not installed")
    # Ctrl-C comes here alone; what it ends, and in which order, is decided here.
    process = subprocess.Popen([program, *words[1:]], stdout=sys.stderr, start_new_session=True)
    stack.callback(end, process)
    if wait:
        wait_for(port)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program, by force if it takes too long."""
    # Whoever is impatient does not leave half of them running.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    process.terminate()
    try:
        process.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(port: int) -> None:
    """Wait until somebody listens on a port."""
    latest = time.monotonic() + STARTS_S
    while time.monotonic() < latest:
        try:
            socket.create_connection((HOST, port)).close()
        except OSError:
            # It is about to start; bounded above.
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nobody listens on port {port}")


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on."""
    held = [socket.create_server((HOST, 0)) for _ in range(number)]
    ports: list[int] = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


if __name__ == "__main__":
    for one in SIGNALS:
        signal.signal(one, lambda number, frame: sys.exit(128 + number))
    main()
