"""Messages of SSE streams in Redis."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.stores.events import StoredEvent, StreamBeginning, StreamStatus

from .connection import Script

if TYPE_CHECKING:
    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisEvents"]

# A stream's state: "<last> <first> <is over> <has requests> <JSON: node, request ids>". `first` is
# the number of its first message that is still stored, or would be next. One script does it all:
# if the server has lost it, the order of what was sent stays.
_SCRIPT = Script("""
local streams, events, order = KEYS[1], KEYS[2], KEYS[3]
local stream = ARGV[2]
-- What to do, the limits (seconds to live, number of messages, their bytes), and how.
local act, ttl, max_events, max_bytes, how =
  string.match(ARGV[1], '^(%a+) (%d+) (%d+) (%d+) (.*)$')
ttl, max_events, max_bytes = tonumber(ttl), tonumber(max_events), tonumber(max_bytes)

local function read(name)
  local text = redis.call('HGET', streams, 's:' .. name)
  if not text then return nil end
  local last, first, over, asked, rest = string.match(text, '^(%d+) (%d+) (%d) (%d) (.*)$')
  return {last = tonumber(last), first = tonumber(first), over = over, asked = asked, rest = rest}
end

local function write(name, s)
  redis.call('HSET', streams, 's:' .. name,
    string.format('%d %d %s %s %s', s.last, s.first, s.over, s.asked, s.rest))
end

local function drop_oldest()
  local number, size, name = string.match(redis.call('LPOP', order), '^(%d+) (%d+) (.*)$')
  redis.call('HDEL', events, number .. ':' .. name)
  redis.call('HINCRBY', streams, 'bytes', 0 - tonumber(size))
  local s = read(name)
  if not s then return end
  if s.last == tonumber(number) and (s.over == '1' or s.asked == '0') then
    redis.call('HDEL', streams, 's:' .. name)
  elseif tonumber(number) >= s.first then
    s.first = tonumber(number) + 1
    write(name, s)
  end
end

local function trim(count, bytes, has_messages)
  while count > 1 and (count > max_events or (has_messages and bytes > max_bytes)) do
    drop_oldest()
    count = count - 1
    bytes = tonumber(redis.call('HGET', streams, 'bytes'))
  end
end

local function keep()
  for i = 1, 3 do
    if redis.call('TTL', KEYS[i]) < ttl * 0.9 then redis.call('EXPIRE', KEYS[i], ttl) end
  end
end

local s = read(stream)
if act == 'after' then
  if not s then return false end
  local found = {}
  for n = math.max(tonumber(ARGV[3]) + 1, s.first), s.last do
    local message = redis.call('HGET', events, string.format('%d:%s', n, stream))
    if message then
      found[#found + 1] = n
      found[#found + 1] = message
    end
  end
  return found
end

-- write: how the stream begins, whether it ends, who runs it, and numbers with their messages.
-- A stream of requests (r) must be new, one of none may be known (g) or must be new (n).
local begins, is_end = string.match(how, '^([rgn]?)([01])$')
if s and (begins == 'r' or begins == 'n') then return 0 end
if begins ~= '' and not s then
  s = {last = 0, first = 1, over = '0', asked = begins == 'r' and '1' or '0', rest = ARGV[3]}
end
if not s or s.over == '1' then return 0 end
local last, size, fields, entries = s.last, 0, {}, {}
for i = 4, #ARGV, 2 do
  local number, message = tonumber(ARGV[i]), ARGV[i + 1]
  if number <= last then return 0 end
  last, size = number, size + #message
  fields[#fields + 1] = string.format('%d:%s', number, stream)
  entries[#entries + 1] = string.format('%d %d %s', number, #message, stream)
end
for i, field in ipairs(fields) do
  if redis.call('HSETNX', events, field, ARGV[2 * i + 3]) == 0 then return 0 end
end
s.last, s.over = last, is_end
write(stream, s)
-- Without a message, an entry of no bytes stands for what is to be forgotten some time.
if #entries == 0 and (is_end == '1' or s.asked == '0') then
  entries[1] = string.format('%d 0 %s', last, stream)
end
if #entries > 0 then
  local count = redis.call('RPUSH', order, unpack(entries))
  trim(count, redis.call('HINCRBY', streams, 'bytes', size), size > 0)
end
keep()
return 1
""")

OLD, REQUESTS, NO_REQUESTS, NEW_NO_REQUESTS = b"", b"r", b"g", b"n"
"""Beginnings of a stream, in a write."""
REMEMBERED = 1024
"""Sessions whose keys are remembered."""


_encode = msgspec.json.Encoder().encode


class RedisEvents:
    """Stores the last messages of each session in Redis; the newest always, whatever its size.

    An acknowledged message is as safe as Redis keeps it. Each method is one command, a script.
    Memory: about 0.4 KB for the first stream of a session, 50 bytes for each further one, 0.3 KB
    for the first message, and 110 bytes for each further one, beside the messages themselves.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
        ttl_s: Seconds after the last message of a session until its messages are dropped; the time
            of the session, if it is longer.
        session_events: Maximum number of messages per session; the oldest are dropped.
        session_bytes: Maximum size of one session's messages, in bytes; the oldest are dropped.
    """

    def __init__(
        self,
        connection: RedisConnection,
        keys: Keys,
        *,
        ttl_s: float = 3600.0,
        session_events: int = 1000,
        session_bytes: int = 4 * 1024 * 1024,
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._keys_of = lru_cache(REMEMBERED)(self._event_keys)
        limits = b"%d %d %d" % (max(1, round(ttl_s)), session_events, session_bytes)
        self._read = b"after %b " % limits
        self._write = {
            (begins, is_end): b"write %b %b%d" % (limits, begins, is_end)
            for begins in (OLD, REQUESTS, NO_REQUESTS, NEW_NO_REQUESTS)
            for is_end in (False, True)
        }

    def _event_keys(self, session: str) -> tuple[bytes, ...]:
        _, *names = self._keys.session(session)
        return tuple(name.encode() for name in names)

    def append(self, session: str, stream: str, number: int, message: bytes) -> Awaitable[bool]:
        """Store a message; see `EventStore.append`."""
        return self.write(session, stream, (StoredEvent(number, message),))

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """Return the messages of a stream that follow a message; see `EventStore.after`."""
        found = await self._run(self._read, session, stream, number)
        if found is None:
            return None
        return [StoredEvent(*pair) for pair in zip(found[::2], found[1::2], strict=True)]

    def forget(self, session: str) -> Awaitable[None]:
        """Delete the messages of a session; see `EventStore.forget`."""
        _, *keys = self._keys.session(session)
        return self._connection.execute("UNLINK", *keys)

    def begin(
        self, session: str, stream: str, node: str, request_ids: Sequence[int | str]
    ) -> Awaitable[bool]:
        """Make a stream known; see `SharedEventStore.begin`."""
        who = _encode((node, tuple(request_ids)))
        how = self._write[REQUESTS if request_ids else NEW_NO_REQUESTS, False]
        return self._run(how, session, stream, who, tells_if=True)

    async def status(self, session: str, stream: str) -> StreamStatus | None:
        """Return the state of a stream; see `SharedEventStore.status`."""
        key = self._keys.session(session).streams
        found: bytes | None = await self._connection.execute("HGET", key, f"s:{stream}")
        if found is None:
            return None
        last, _, is_over, _, who = found.split(b" ", 4)
        node, request_ids = msgspec.json.decode(who, type=tuple[str, tuple[int | str, ...]])
        return StreamStatus(node, request_ids, int(last), is_over == b"1")

    def end(self, session: str, stream: str, number: int, message: bytes | None) -> Awaitable[bool]:
        """End a stream, unless it has ended; see `SharedEventStore.end`."""
        messages = () if message is None else (StoredEvent(number, message),)
        return self.write(session, stream, messages, is_end=True)

    def write(
        self,
        session: str,
        stream: str,
        messages: Sequence[StoredEvent],
        beginning: StreamBeginning | None = None,
        *,
        is_end: bool = False,
    ) -> Awaitable[bool]:
        """Begin a stream, append messages and end it; see `SharedEventStore.write`."""
        who, begins = b"", OLD
        if beginning is not None:
            who = _encode((beginning.node, tuple(beginning.request_ids)))
            begins = REQUESTS if beginning.request_ids else NO_REQUESTS
        parts: list[int | bytes] = []
        for message in messages:
            parts += message
        how = self._write[begins, is_end]
        return self._run(how, session, stream, who, *parts, tells_if=True)

    def _run(
        self, how: bytes, session: str, stream: str, *given: bytes | int, tells_if: bool = False
    ) -> Awaitable[Any]:
        keys = self._keys_of(session)
        return self._connection.run(_SCRIPT, keys, (how, stream, *given), tells_if=tells_if)
