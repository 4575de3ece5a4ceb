"""Count what a statement runs in a new interpreter: `python -S count_imports.py STATEMENT`.

Prints names of modules, numbers of calls and bytes of code as the last line of stdout, in JSON.
"""

import sys

found = {"calls": 0, "code_bytes": 0}


def size_bytes(code):
    """Return the size of a code object and of all inside it, without line tables and constants."""
    return len(code.co_code) + sum(
        size_bytes(one) for one in code.co_consts if isinstance(one, type(code))
    )


def on_event(frame, event, _):
    """Count calls of Python functions, and the code of modules as they are run."""
    code = frame.f_code
    # How the import system looks for files depends on the paths of the machine.
    if event != "call" or code.co_filename.startswith("<frozen importlib"):
        return
    found["calls"] += 1
    if code.co_name == "<module>":
        found["code_bytes"] += size_bytes(code)


before = set(sys.modules)
statement = compile(sys.argv[1], "statement", "exec")
sys.setprofile(on_event)
try:
    exec(statement, {"__name__": "__main__"})
except SystemExit:
    pass  # a command that has done its work
finally:
    sys.setprofile(None)
modules = sorted(set(sys.modules) - before)

import json  # noqa: E402 - later, or it would not be counted where the statement needs it

print()
print(json.dumps({"modules": modules, **found}))
