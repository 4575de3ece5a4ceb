"""`State`, what handlers keep for a client between requests: `ctx.state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import McpError, ProtocolError, UsageError
from mcp_gen.values.custom_types import to_json
from mcp_gen.values.reading import read_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.state import StateStore

__all__ = ["State"]

T = TypeVar("T")


class State:
    """Values that handlers keep for a client between requests: `ctx.state`.

        cart = await ctx.state.get("cart", list[Item], [])
        await ctx.state.set("cart", [*cart, item])

    Values are stored as JSON. Two requests at once do not wait for each other: the last `set` wins.

    Args:
        store: Store of the values.
        key: Whose values they are.
        ttl_s: Seconds after the last `set` until all values expire.
        max_bytes: Most bytes of all names and values.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        store: StateStore,
        key: str,
        *,
        ttl_s: float,
        max_bytes: int,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._key = key
        self._ttl_s = ttl_s
        self._max_bytes = max_bytes
        self._clock = clock

    @overload
    async def get(self, name: str, /) -> Any: ...

    @overload
    async def get(self, name: str, type: type[T], /) -> T | None: ...

    @overload
    async def get(self, name: str, type: type[T], default: T, /) -> T: ...

    async def get(self, name: str, type: Any = Any, default: Any = None, /) -> Any:
        """Return a value.

        Args:
            name: Name of the value.
            type: Type to decode it as: any type that msgspec can decode, or a pydantic model; left
                out, it is plain JSON.
            default: Returned if there is no value.

        Raises:
            UsageError: the stored value does not fit the type.
        """
        stored = await self._store.load(self._key, name, now=self._clock())
        if stored is None:
            return default
        data = msgspec.json.decode(stored)
        try:
            return data if type is Any else read_value(data, type, f"state {name!r}")
        except msgspec.ValidationError as error:
            raise UsageError(
                f"state {name!r}: what is stored is no {type!r}: {error}; take another name for "
                "values of another type"
            ) from None

    if not TYPE_CHECKING:

        def __getitem__(self, name: str) -> Any:
            raise UsageError(f"ctx.state[{name!r}]: write `await ctx.state.get({name!r})`")

        def __setitem__(self, name: str, value: Any) -> None:
            raise UsageError(f"ctx.state[{name!r}]: write `await ctx.state.set({name!r}, value)`")

    async def set(self, name: str, value: Any, /) -> None:
        """Store a value; all values of this client then live for the `ttl_s` of `SessionState`.

        Args:
            name: Name of the value.
            value: Value that can be encoded as JSON.

        Raises:
            UsageError: the value cannot be encoded as JSON.
            McpError: the client would have more state than the `max_bytes` of `SessionState`.
        """
        try:
            encoded = to_json(value)
        except Exception as error:
            # Encoding calls methods of the value: they can raise anything.
            from mcp_gen.values.unserializable import not_json

            raise not_json(value, f"state {name!r}") or error from None
        check_finite(value, encoded, f"state {name!r}")
        now = self._clock()
        saved = await self._store.save(
            self._key,
            name,
            encoded,
            expires_at=now + self._ttl_s,
            now=now,
            max_bytes=self._max_bytes,
        )
        if not saved:
            raise McpError(
                ProtocolError.code,
                f"state {name!r}: the state of one client has at most {self._max_bytes} bytes: "
                "delete some of it, or raise SessionState(max_bytes=)",
            )

    async def delete(self, name: str, /) -> None:
        """Delete a value; it is no error if there is none.

        Args:
            name: Name of the value.
        """
        await self._store.forget(self._key, name)

    async def clear(self) -> None:
        """Delete all values of this client."""
        await self._store.forget(self._key)
