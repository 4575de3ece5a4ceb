"""Renders the templates: one package per revision, and the modules that span them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from codegen.emit.bounds import field_bounds, reaching_fields
from codegen.emit.changes import table
from codegen.emit.extension import emit_extension, header, renderer
from codegen.emit.machinery import machinery
from codegen.emit.package_docs import package_doc
from codegen.emit.profile import error_types, fact_types, role_names
from codegen.emit.pydantic_models import extension_models, models
from codegen.emit.python_source import annotation, sections
from codegen.emit.python_text import picked
from codegen.emit.renderer import COMMAND, Renderer, names, split
from codegen.extensions.read import Extension
from codegen.model import ir
from codegen.model.docs import NO_DOCS, Docs
from codegen.model.names import IRREGULAR, constant
from codegen.model.overlay import Overlay
from codegen.printable import printable

_SHARED = (
    "aliases",
    "base",
    "bounds",
    "changelog",
    "changes",
    "common",
    "extension",
    "extra_keys",
    "handlers",
    "hook_machinery",
    "hook_types",
    "hooks",
    "json_schemas",
    "latest",
    "lenient_decoding",
    "method",
    "open_maps",
    "peer_calls",
    "profile",
)
_DATED = ("dispatch", "methods", "requests", "types")


@dataclass(frozen=True)
class _AnyDate:
    """One message over all revisions that have it."""

    wire: str
    name: str
    params_type: str
    accepts: str
    result: str
    arguments: list[str]
    names: list[str]
    newest_result: str
    dates: str
    args: list[tuple[str, str]]
    """Each argument that the schema names, with its meaning."""
    returns: str
    page: str
    """Address of the page of the specification that speaks of it, at its newest revision."""

    @property
    def pascal(self) -> str:
        return "".join(word.title() for word in self.name.split("_"))


_CALL_ERRORS = (
    ("UsageError", "The negotiated revision has no such request, or lacks an argument given."),
    ("McpError", "The {peer} answered with an error."),
    ("InvalidResult", "The {peer}'s result does not fit the request."),
    ("RequestTimeout", "No result came in time."),
    ("SessionLost", "The {peer} disconnected before it answered."),
)


def emit(
    revisions: list[ir.Revision],
    overlay: Overlay,
    docs: Docs,
    extensions: Sequence[Extension] = (),
) -> dict[Path, str]:
    """Render the files of the package, by path inside it, before formatting."""
    for revision in revisions:
        # The base of all wire types reads over the keys that they do not name.
        overlay.one("reads", revision.name, "rule", "unknown key")
    emitter = _Emitter(revisions, overlay, docs)
    return emitter.run() | emitter.pydantic(extensions) | emitter.extensions(extensions)


def change_modules(revisions: list[ir.Revision], overlay: Overlay) -> dict[Path, str]:
    """Render the modules that tell the changes of revisions, which need no generated type."""
    render = Renderer(NO_DOCS)
    values = {
        "header": "",
        "dates": [revision.name for revision in revisions],
        "table": table(revisions, overlay),
    }
    return {Path(f"{name}.py"): render(name, values) for name in ("changes", "changelog")}


def opens(revision: ir.Revision, overlay: Overlay) -> bool:
    """Return True if the revision has a method that opens a connection."""
    lifecycle = next((fact.value for fact in revision.facts if fact.name == "lifecycle"), None)
    role = "handshake" if lifecycle == "initialize" else "discover"
    there = {method.wire for method in revision.methods}
    rows = overlay.rows("role", revision.name)
    return any(row["name"] == role and row["method"] in there for row in rows)


class _Emitter:
    def __init__(self, revisions: list[ir.Revision], overlay: Overlay, docs: Docs) -> None:
        self._revisions = revisions
        self._overlay = overlay
        self._docs = docs
        self._offered = [
            one for one in revisions if one.name != overlay.draft or opens(one, overlay)
        ]
        self._latest = self._offered[-1]
        self._render = Renderer(
            docs, common_result=self._common_results.__getitem__, call_doc=_call_doc
        )

    def run(self) -> dict[Path, str]:
        shared = self._shared
        files = {Path(f"{name}.py"): self._render(name, shared) for name in _SHARED}
        files[Path("__init__.py")] = self._render("package", shared)
        files[Path("py.typed")] = ""
        files |= machinery(shared["header"])
        for revision in self._revisions:
            folder, dated = Path(revision.module), self._dated(revision)
            files |= {folder / f"{name}.py": self._render(name, dated) for name in _DATED}
            if picked(revision):
                files[folder / "untagged.py"] = self._render("untagged", dated)
            doc = package_doc(revision, self._docs)
            files[folder / "__init__.py"] = self._render("revision", {**dated, "doc": doc})
        return files

    def pydantic(self, extensions: Sequence[Extension]) -> dict[Path, str]:
        folder = Path("pydantic")
        shared = {
            **self._shared,
            "extensions": [(one.identifier, one.own.module) for one in extensions],
        }
        missing = dict(self._default_tags())
        files = {
            folder / "__init__.py": self._render("pydantic_package", shared),
            folder / "base.py": self._render("pydantic_base", shared),
        }
        for revision in self._revisions:
            dated = {
                **self._dated(revision),
                "models": models(revision, missing, self._render),
            }
            files[folder / f"{revision.module}.py"] = self._render("pydantic_models", dated)
        files[folder / "extensions" / "__init__.py"] = self._render("pydantic_extensions", shared)
        for one in extensions:
            values = {
                "header": header(one.own),
                "x": one,
                "models": extension_models(one, missing, renderer(one)),
            }
            text = self._render("pydantic_extension", values)
            files[folder / "extensions" / f"{one.name}.py"] = text
        return files

    def extensions(self, extensions: Sequence[Extension]) -> dict[Path, str]:
        folder = Path("extensions")
        shared = {
            "header": f"# Generated by `{COMMAND}` from schema/extensions/. Do not edit.",
            "extensions": [(one.identifier, one.name) for one in extensions],
        }
        files = {folder / "__init__.py": self._render("extension_index", shared)}
        for one in extensions:
            made = emit_extension(one)
            files |= {folder / one.name / path: text for path, text in made.items()}
        return files

    # --- what spans the revisions ---

    @cached_property
    def _shared(self) -> dict[str, Any]:
        return {
            "header": f"# Generated by `{COMMAND}` from schema/. Do not edit.",
            "revisions": [revision.name for revision in self._offered],
            "modules": [revision.module for revision in self._revisions],
            "homes": [(revision.name, revision.module) for revision in self._revisions],
            "lifecycles": self._by_revision("lifecycle"),
            "version_keys": self._by_revision("protocol_version_key"),
            "dates": [revision.name for revision in self._revisions],
            "table": table(self._revisions, self._overlay),
            "latest": self._latest.name,
            "module": self._latest.module,
            "names": self._common_names(),
            "latest_names": names(self._latest),
            "irregular": sorted(IRREGULAR.items()),
            "default_tags": self._default_tags(),
            "call_classes": [
                ("ServerCaller", "server", *self._sendable(by_client=True)),
                ("ClientCaller", "client", *self._sendable(by_client=False)),
            ],
            "hooked_requests": self._distinct("request"),
            "hooked_notifications": self._distinct("notification"),
            "hook_sides": [
                ("ToServerHooks", "client", "server", *self._messages(by_client=True)),
                ("ToClientHooks", "server", "client", *self._messages(by_client=False)),
            ],
            "hook_owners": [
                ("ServerHooks", "ToServerHooks", "ToClientHooks", "server", "client"),
                ("ClientHooks", "ToClientHooks", "ToServerHooks", "client", "server"),
            ],
            "sides": [
                ("ServerHandlers", "server", self._requests(by_client=True)),
                ("ClientHandlers", "client", self._requests(by_client=False)),
            ],
            "aliases": self._aliases(),
            "open_maps": self._open_maps(),
            "bounds": [(one.name, field_bounds(one)) for one in self._revisions],
            "reaches": [(one.name, reaching_fields(one)) for one in self._revisions],
            **self._profile,
        }

    @property
    def _profile(self) -> dict[str, Any]:
        """Return the facts and error codes of the Profile, each with its type and its line."""
        facts, errors = fact_types(self._revisions, self._overlay), error_types(self._revisions)
        lines = self._docs.profile
        lines.check_used(facts, errors)
        return {
            "error_codes": [(name, type_, lines.error(name)) for name, type_ in errors.items()],
            "fact_groups": [
                (title, [(name, facts[name], line) for name, line in listed])
                for title, listed in lines.grouped(facts)
            ],
        }

    def _open_maps(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the types of open maps by the field that holds one, for each revision."""
        return [
            (revision.name, found)
            for revision in self._revisions
            if (
                found := [
                    (f"{name}.{field.name}", field.described_by)
                    for name, struct in sorted(revision.structs.items())
                    for field in struct.fields
                    if field.described_by
                ]
            )
        ]

    def _messages(self, *, by_client: bool) -> tuple[list[_AnyDate], list[_AnyDate]]:
        """Return the requests and the notifications of one direction."""
        return (
            self._requests(by_client=by_client),
            self._requests(by_client=by_client, kind="notification"),
        )

    def _sendable(self, *, by_client: bool) -> tuple[list[_AnyDate], list[_AnyDate]]:
        """Return the messages of an open session: all but the handshake."""
        opening = {
            str(row["method"])
            for revision in self._revisions
            for row in self._overlay.rows("role", revision.name)
            if row["name"] in ("handshake", "initialized")
        }
        requests, notifications = self._messages(by_client=by_client)
        return (
            [one for one in requests if one.wire not in opening],
            [one for one in notifications if one.wire not in opening],
        )

    def _distinct(self, kind: ir.Kind) -> list[_AnyDate]:
        """Return the messages of one kind in both directions, each once."""
        both = [
            *self._requests(by_client=True, kind=kind),
            *self._requests(by_client=False, kind=kind),
        ]
        return [*{one.name: one for one in both}.values()]

    def _requests(self, *, by_client: bool, kind: ir.Kind = "request") -> list[_AnyDate]:
        found: dict[str, list[tuple[ir.Revision, ir.Method]]] = {}
        for revision in self._revisions:
            for method in revision.methods:
                sent = method.from_client if by_client else method.direction != "client_to_server"
                if method.kind == kind and sent:
                    found.setdefault(method.name, []).append((revision, method))
        return [self._any_date(name, rows) for name, rows in sorted(found.items())]

    def _any_date(self, name: str, rows: list[tuple[ir.Revision, ir.Method]]) -> _AnyDate:
        params = list(dict.fromkeys(method.params for _, method in rows))
        results = list(dict.fromkeys(result for _, method in rows for result in method.results))
        raw = [
            f"Raw{method.params}"
            for revision, method in rows
            if method.params in revision.structs and revision.structs[method.params].raw
        ]
        accepts = [*params, *dict.fromkeys(raw)]
        return _AnyDate(
            wire=rows[0][1].wire,
            name=name,
            params_type=" | ".join(f"common.{one}" for one in params),
            accepts=" | ".join(f"common.{one}" for one in accepts),
            result=" | ".join(f"common.{one}" for one in results),
            **self._flattened(rows),
        )

    def _flattened(self, rows: list[tuple[ir.Revision, ir.Method]]) -> dict[str, Any]:
        """Merge the params of all revisions into one argument list, typed as in the newest."""
        newest, method = rows[-1]
        if method.params not in newest.structs and method.kind == "request":
            # A union: which arm it is says more than its fields would.
            whole = {
                "arguments": [f"params: {newest.module}.{method.params}"],
                "names": ["params"],
                "args": [("params", self._docs.type(method.params))],
            }
        else:
            whole = self._fields(rows)
        dates = [revision.name for revision, _ in rows]
        return {
            **whole,
            "newest_result": f"{newest.module}.{method.results[0]}" if method.results else "None",
            "dates": "" if len(dates) == len(self._revisions) else f" ({_spans(dates)})",
            "returns": self._docs.type(method.results[0]) if method.results else "",
            "page": _page(newest, method),
        }

    def _fields(self, rows: list[tuple[ir.Revision, ir.Method]]) -> dict[str, Any]:
        fields: dict[str, tuple[str, ir.Field, int]] = {}
        meanings: dict[str, str] = {}
        for revision, method in rows:
            struct = revision.structs.get(method.params)
            for field in struct.fields if struct else ():
                if field.name != "meta" and field.absent not in ("const", "always"):
                    type_ = annotation(field.type, f"{revision.module}.")
                    seen = fields[field.name][2] if field.name in fields else 0
                    fields[field.name] = (type_, field, seen + (field.absent == "refused"))
                    meanings[field.name] = self._docs.field(method.params, field.wire)
        required = [f"{n}: {t}" for n, (t, _, times) in fields.items() if times == len(rows)]
        optional = [
            f"{n}: {t} | None = None" for n, (t, _, times) in fields.items() if times < len(rows)
        ]
        names = [n for n, (*_, times) in fields.items() if times == len(rows)]
        names += [n for n, (*_, times) in fields.items() if times < len(rows)]
        args = [(name, meanings[name]) for name in names]
        return {"arguments": [*required, *optional], "names": names, "args": args}

    def _aliases(self) -> list[tuple[str, list[str]]]:
        """Return the names that types have at other revisions."""
        for revision in self._revisions:
            for row in self._overlay.rows("also_named", revision.name):
                for name in revision.structs.keys() & row["names"]:
                    row.use(name)
        return sorted(self._overlay.other_names(self._revisions).items())

    def _by_revision(self, fact: str) -> list[tuple[str, str]]:
        """Return one fact of every revision that states it."""
        return [
            (revision.name, str(row.value))
            for revision in self._revisions
            for row in revision.facts
            if row.name == fact and row.value is not None
        ]

    @cached_property
    def _common_results(self) -> dict[str, str]:
        """Results of every request over all revisions, by the request's Python name."""
        return {one.name: one.result for one in self._distinct("request")}

    def _common_names(self) -> list[tuple[str, list[str]]]:
        homes: dict[str, list[str]] = {}
        for revision in self._revisions:
            for name in names(revision):
                homes.setdefault(name, []).append(revision.module)
        return sorted(homes.items())

    def _default_tags(self) -> list[tuple[str, str]]:
        """Return the values of absent tags: those of `const` rows that hold for most types."""
        return sorted(
            {
                (row["property"], row["value"])
                for revision in self._revisions
                for row in self._overlay.rows("const", revision.name)
                if "but" in row.values
            }
        )

    # --- one revision ---

    def _dated(self, revision: ir.Revision) -> dict[str, Any]:
        codes = {error.name.lower(): error.code for error in revision.errors}
        return {
            "header": (
                f"# Generated by `{COMMAND}` from {printable(revision.source)}. Do not edit.\n"
                f"# sha256 {revision.sha256}"
            ),
            "r": revision,
            "names": names(revision),
            "error_codes": [(name, codes.get(name)) for name in error_types(self._revisions)],
            "roles": self._roles(revision),
            "calls": [
                ("ToServer", "server", *split([m for m in revision.methods if m.from_client])),
                ("ToClient", "client", *split([m for m in revision.methods if m.from_server])),
            ],
        }

    def _roles(self, revision: ir.Revision) -> list[tuple[str, str]]:
        made = dict.fromkeys(role_names(self._revisions, self._overlay), "")
        for row in self._overlay.rows("role", revision.name):
            if any(method.wire == row["method"] for method in revision.methods):
                row.use("the row")
                made[row["name"]] = constant(row["method"])
        return list(made.items())


def _page(revision: ir.Revision, method: ir.Method) -> str:
    page = revision.pages.get(method.params, "")
    return f"{revision.spec}/{page}" if page and revision.spec else ""


def _call_doc(message: _AnyDate, peer: str) -> str:
    """Return the docstring of the method that sends a message to a peer, at any revision."""
    summary = f"Send {message.wire}{message.dates}."
    meta = ("meta", "More keys for the `_meta` of the message.")
    if message.newest_result == "None":
        raises = [("UsageError", "The revision lacks the notification or one of the arguments.")]
        parts = [("Args", [*message.args, meta]), ("Raises", raises)]
        return sections(summary, parts, message.page, 8)
    own = [
        meta,
        ("timeout_s", "Seconds until the request is cancelled; None: the limit of the session."),
        ("progress", "Called with the progress, the total and a message of each notification."),
    ]
    parts = [
        ("Args", [*message.args, *own]),
        ("Returns", [(message.newest_result.rpartition(".")[2], message.returns)]),
        ("Raises", [(name, why.format(peer=peer)) for name, why in _CALL_ERRORS]),
    ]
    return sections(summary, parts, message.page, 8)


def _spans(dates: list[str]) -> str:
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
