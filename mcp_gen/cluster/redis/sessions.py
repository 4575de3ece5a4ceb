"""HTTP sessions in Redis."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.stores.sessions import MAX_EXPIRED, MAX_MOVES, StoredSession

from .connection import Script

if TYPE_CHECKING:
    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisSessions"]

PER_COMMAND = 500
"""Sessions per command of the index."""
INDEX_TTL_S = 7 * 24 * 3600
"""Seconds after the last session was heard of until the index is dropped."""
MARGIN_S = 60
"""Seconds that a session is kept beyond its time, so that a node can end it before."""

# The session's hash: `f:<field>` JSON of a field that is not its default, `changes`, `moves`,
# `keep` (seconds), `node:<move>`.
_SESSION = Script("""
local act, session = ARGV[1], KEYS[1]

local function keep()
  local ttl = tonumber(redis.call('HGET', session, 'keep'))
  redis.call('EXPIRE', session, ttl)
  for i = 2, 4 do
    if redis.call('TTL', KEYS[i]) < ttl then redis.call('EXPIRE', KEYS[i], ttl) end
  end
end

local function set(first)
  for i = first, #ARGV, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', session, ARGV[i])
    else redis.call('HSET', session, ARGV[i], ARGV[i + 1]) end
  end
  keep()
end

local exists = redis.call('EXISTS', session) == 1
if act == 'create' then
  if exists then return 0 end
  set(2)
  return 1
elseif act == 'save' then
  if not exists then redis.call('HSET', session, 'keep', ARGV[2]) end
  set(3)
  return 1
elseif not exists then
  return 0
elseif act == 'touch' then
  keep()
  return 1
elseif act == 'update' then
  if redis.call('HGET', session, 'changes') ~= ARGV[2] then return 0 end
  set(3)
  return redis.call('HINCRBY', session, 'changes', 1)
elseif act == 'enter' then
  local move = redis.call('HINCRBY', session, 'moves', 1)
  redis.call('HSET', session, 'node:' .. move, ARGV[2])
  redis.call('HDEL', session, 'node:' .. (move - tonumber(ARGV[3])))
  keep()
  return move
end
""")

_INDEX = Script("""
local act, heard = ARGV[1], KEYS[1]
if act == 'add' then
  if redis.call('ZSCORE', heard, ARGV[2]) then return 0 end
  if redis.call('ZCARD', heard) >= tonumber(ARGV[4]) then return 0 end
  redis.call('ZADD', heard, ARGV[3], ARGV[2])
  redis.call('EXPIRE', heard, ARGV[5])
  return 1
end
local ids = redis.call('ZRANGE', heard, '-inf', '(' .. ARGV[2], 'BYSCORE', 'LIMIT', 0, ARGV[3])
if #ids > 0 then redis.call('ZREM', heard, unpack(ids)) end
return ids
""")


class RedisSessions:
    """Stores HTTP sessions in Redis.

    Commands: `load`, `update`, `enter`, `node_of`, `count` and `expired` send one, `create` two,
    `forget` two, `touch` one for each session and three for each 500 of them, all in one pipeline.
    Memory: about 1.1 KB for each session, its place in the index included, and 100 bytes per move.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
        keep_s: Seconds for which a session of `save` is kept after it was saved last.
    """

    def __init__(
        self, connection: RedisConnection, keys: Keys, *, keep_s: float = 24 * 3600.0
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._keep_s = keep_s

    async def save(self, session: StoredSession) -> None:
        """Store a session as it is, whatever is stored; see `SessionStore.save`."""
        fields = {
            **_fields(StoredSession.__struct_fields__, session),
            b"changes": session.changes,
            b"moves": session.moves,
        }
        await self._run("save", session.id, _whole(self._keep_s), *_pairs(fields))

    async def load(self, id: str) -> StoredSession | None:
        """Return the session with that id; see `SessionStore.load`."""
        found = await self._connection.execute("HGETALL", self._keys.session(id).session)
        fields: dict[bytes, bytes] = _read_hash(found)
        if not fields:
            return None
        members = [b'"id":' + msgspec.json.encode(id)]
        members += [b'"%s":%s' % (name, fields.get(name, b"0")) for name in (b"changes", b"moves")]
        members += [
            b'"%s":%s' % (name[2:], value)
            for name, value in fields.items()
            if name.startswith(b"f:")
        ]
        return msgspec.json.decode(b"{%s}" % b",".join(members), type=StoredSession)

    async def forget(self, id: str) -> None:
        """Delete a session; see `SessionStore.forget`. Its messages are the event store's."""
        await asyncio.gather(
            self._connection.execute("UNLINK", self._keys.session(id).session),
            self._connection.execute("ZREM", self._keys.heard, id),
        )

    # --- several nodes ---

    async def create(self, session: StoredSession, *, limit: int, keep_s: float) -> bool:
        """Store a new session; see `SharedSessionStore.create`."""
        added = await self._connection.run(
            _INDEX,
            [self._keys.heard],
            ("add", session.id, repr(session.began_at), limit, INDEX_TTL_S),
        )
        if not added:
            return False
        fields = {
            **_fields(StoredSession.__struct_fields__, session),
            b"changes": session.changes,
            b"moves": session.moves,
            b"keep": _whole(keep_s + MARGIN_S),
        }
        if await self._run("create", session.id, *_pairs(fields)):
            return True
        # It is being ended: it counted no more.
        await self._connection.execute("ZREM", self._keys.heard, session.id)
        return False

    async def update(self, id: str, fields: Mapping[str, Any], expected_changes: int) -> int | None:
        """Replace fields of a session; see `SharedSessionStore.update`."""
        new = {_name(name): msgspec.json.encode(value) for name, value in fields.items()}
        changes: int = await self._run("update", id, expected_changes, *_pairs(new))
        return changes or None

    async def touch(self, heard: Mapping[str, float]) -> Sequence[str]:
        """Store when sessions were last heard of; see `SharedSessionStore.touch`."""
        if not heard:
            return []
        ids = list(heard)
        parts = [ids[i : i + PER_COMMAND] for i in range(0, len(ids), PER_COMMAND)]
        execute, index = self._connection.execute, self._keys.heard
        for part in parts:
            scores = [text for id in part for text in (repr(heard[id]), id)]
            execute("ZADD", index, "XX", "GT", *scores)
        execute("EXPIRE", index, INDEX_TTL_S)
        counted = [execute("ZMSCORE", index, *part) for part in parts]
        kept = await asyncio.gather(*(self._run("touch", id) for id in ids))
        scores_of = [score for reply in counted for score in await reply]
        return [
            id
            for id, is_kept, score in zip(ids, kept, scores_of, strict=True)
            if not is_kept or score is None
        ]

    async def count(self) -> int:
        """Return the number of sessions; see `SharedSessionStore.count`."""
        count: int = await self._connection.execute("ZCARD", self._keys.heard)
        return count

    async def expired(self, heard_before: float, *, most: int = MAX_EXPIRED) -> Sequence[str]:
        """Return sessions that were not heard of since; see `SharedSessionStore.expired`."""
        found: list[bytes] = await self._connection.run(
            _INDEX, [self._keys.heard], ("expired", repr(heard_before), min(most, MAX_EXPIRED))
        )
        return [id.decode() for id in found]

    async def enter(self, id: str, node: str) -> int | None:
        """Return a new move number; see `SharedSessionStore.enter`."""
        move: int = await self._run("enter", id, node, MAX_MOVES)
        return move or None

    async def node_of(self, id: str, move: int) -> str | None:
        """Return the node that has a move number; see `SharedSessionStore.node_of`."""
        key = self._keys.session(id).session
        found: bytes | None = await self._connection.execute("HGET", key, f"node:{move}")
        return None if found is None else found.decode()

    def _run(self, act: str, id: str, *arguments: str | bytes | int) -> asyncio.Future[Any]:
        return self._connection.run(_SESSION, self._keys.session(id), (act, *arguments))


_COUNTED = {"id", "changes", "moves"}
"""Fields that the hash has otherwise."""
_EMPTY = StoredSession(id="", client=msgspec.Raw(b"{}"), revision="", began_at=0.0)


def _fields(names: Sequence[str], session: StoredSession) -> dict[bytes, bytes | str | int]:
    """Return the fields of a session as JSON; an empty text where a field is the default."""
    found: dict[bytes, bytes | str | int] = {}
    for name in names:
        if name not in _COUNTED:
            value = getattr(session, name)
            is_default = value == getattr(_EMPTY, name)
            found[_name(name)] = b"" if is_default else msgspec.json.encode(value)
    return found


def _name(field: str) -> bytes:
    return b"f:" + field.encode()


def _pairs(fields: Mapping[bytes, bytes | str | int]) -> list[bytes | str | int]:
    return [part for pair in fields.items() for part in pair]


def _whole(seconds: float) -> int:
    return max(1, math.ceil(seconds))


def _read_hash(reply: dict[bytes, bytes] | list[bytes]) -> dict[bytes, bytes]:
    """Return a hash, which redis-py gives as a dict or, unread, as a list."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2], strict=True))
