"""Tasks in Redis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mcp_gen.core.stores.tasks import StoredTask

from .connection import Script
from .keys import digest, sortable

if TYPE_CHECKING:
    import asyncio

    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisTasks"]

MAX_TTL_S = 30 * 24 * 3600
"""Seconds after its last change until a task that never expires is dropped."""
MARGIN_S = 60
"""Seconds that a task is kept beyond its time, so that clients learn that it has expired."""
INDEX_TTL_S = MAX_TTL_S + 24 * 3600
"""Seconds after the last task was added or has ended until the index is dropped."""

# The task's hash: `data` JSON of the fields that a claim does not change, `final`, `retry`,
# `attempt`, and of a claim `node` and `until`.
_TASK = Script("""
local act, task = ARGV[1], KEYS[1]
if act == 'add' then
  redis.call('UNLINK', task)
  redis.call('HSET', task, 'data', ARGV[2], 'final', ARGV[3], 'retry', ARGV[4], 'attempt', ARGV[5])
  if ARGV[6] ~= '' then redis.call('HSET', task, 'node', ARGV[6]) end
  if ARGV[7] ~= '' then redis.call('HSET', task, 'until', ARGV[7]) end
  redis.call('EXPIRE', task, ARGV[8])
  return 1
end

local f = redis.call('HMGET', task, 'final', 'attempt', 'retry', 'node', 'until')
local final, attempt, retry, node, claimed_until = f[1], f[2], f[3], f[4], f[5]
if final ~= '0' then return 0 end
if act == 'save' then
  if attempt ~= ARGV[5] then return 0 end
  redis.call('HSET', task, 'data', ARGV[2], 'final', ARGV[3], 'retry', ARGV[4])
  redis.call('EXPIRE', task, ARGV[6])
elseif act == 'claim' then
  if claimed_until and (tonumber(claimed_until) > tonumber(ARGV[4]) or retry == '0') then
    return 0
  end
  redis.call('HSET', task, 'node', ARGV[2], 'until', ARGV[3])
  redis.call('HINCRBY', task, 'attempt', 1)
else
  if node ~= ARGV[2] or not claimed_until then return 0 end
  if act == 'renew' then redis.call('HSET', task, 'until', ARGV[3])
  else redis.call('HDEL', task, 'until') end
end
return 1
""")

# Members are "<owner>/<creation>/<id>".
_INDEX = Script("""
local all, pages, final, owners = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local act, member = ARGV[1], ARGV[2]
local owner = string.match(member, '^[^/]+')

local function drop(one)
  if redis.call('ZREM', all, one) == 0 then return end
  redis.call('ZREM', pages, one)
  redis.call('ZREM', final, one)
  redis.call('ZINCRBY', owners, -1, string.match(one, '^[^/]+'))
  redis.call('ZREMRANGEBYSCORE', owners, '-inf', 0)
end

local function oldest_final(name)
  return redis.call('ZRANGE', final, '[' .. name .. '/', '(' .. name .. '0', 'BYLEX',
    'LIMIT', 0, 1)[1]
end

local function replaceable()
  local own = oldest_final(owner)
  if own then return own end
  local held = tonumber(redis.call('ZSCORE', owners, owner) or '0')
  local most = redis.call('ZRANGE', owners, 0, 99, 'REV', 'WITHSCORES')
  for i = 1, #most, 2 do
    if tonumber(most[i + 1]) <= held + 1 then return nil end
    local one = oldest_final(most[i])
    if one then return one end
  end
end

if act == 'drop' then
  drop(member)
  return {}
elseif act == 'final' then
  if redis.call('ZSCORE', all, member) then
    redis.call('ZADD', final, 0, member)
    redis.call('EXPIRE', final, ARGV[3])
  end
  return {}
end

local dropped, limit = {}, tonumber(ARGV[5])
if redis.call('ZCARD', all) >= limit then
  dropped = redis.call('ZRANGE', all, '-inf', '(' .. ARGV[4], 'BYSCORE', 'LIMIT', 0, 100)
  if #dropped == 0 then dropped = {replaceable()} end
  for _, one in ipairs(dropped) do drop(one) end
  if redis.call('ZCARD', all) >= limit then return false end
end
redis.call('ZADD', all, ARGV[3], member)
redis.call('ZADD', pages, 0, member)
redis.call('ZINCRBY', owners, 1, owner)
for i = 1, 4 do redis.call('EXPIRE', KEYS[i], ARGV[6]) end
return dropped
""")


class RedisTasks:
    """Stores tasks in Redis.

    When the store is full, expired tasks are dropped. If there are none, a new task replaces the
    oldest final task of its own owner (principal, or session). An owner without one replaces a
    final task of an owner with more tasks than this one would have; the 100 owners with the most
    are looked at.

    Commands: `load`, `claim`, `renew` and `release` send one, `save` one and one more for a task
    that has ended, `add` two, `forget` three, `page` one, and one for each task. Memory: about
    0.9 KB for each task, beside its arguments and result.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
        max_tasks: Maximum number of tasks of all nodes.
    """

    def __init__(self, connection: RedisConnection, keys: Keys, *, max_tasks: int = 10_000) -> None:
        self._connection = connection
        self._keys = keys
        self._max_tasks = max_tasks

    async def add(self, task: StoredTask, now: float) -> bool:
        """Store a new task, if there is room; see `TaskStore.add`."""
        expires_at = "+inf" if task.expires_at is None else repr(task.expires_at)
        dropped: list[bytes] | None = await self._index(
            "add", _member(task), expires_at, repr(now), self._max_tasks, INDEX_TTL_S
        )
        if dropped is None:
            return False
        for member in dropped:
            # Not awaited: no list has them any more.
            self._connection.execute("UNLINK", self._keys.task(_id_in(member)))
        await self._run(
            "add",
            task.id,
            *_data(task),
            task.attempt,
            task.node or "",
            "" if task.claimed_until is None else repr(task.claimed_until),
            _ttl_s(task, now),
        )
        return True

    async def save(self, task: StoredTask) -> bool:
        """Replace a stored task; see `TaskStore.save`."""
        saved: int = await self._run(
            "save", task.id, *_data(task), task.attempt, _ttl_s(task, task.updated_at)
        )
        if saved and task.is_final:
            # Not awaited: it only tells which task a full store may replace.
            self._index("final", _member(task), INDEX_TTL_S)
        return bool(saved)

    async def load(self, id: str) -> StoredTask | None:
        """Return the task with that id; see `TaskStore.load`."""
        return _task(await self._read(id))

    async def page(
        self,
        principal: str | None,
        session: str | None,
        behind: tuple[float, str] | None,
        size: int,
    ) -> Sequence[StoredTask]:
        """Return one page of tasks, ordered by `created_at` and `id`; see `TaskStore.page`."""
        if principal is None and session is None:
            return []
        owner = _owner_of(principal, session)
        found: list[StoredTask] = []
        start = f"[{owner}/" if behind is None else f"({owner}/{sortable(behind[0])}/{behind[1]}"
        while len(found) < size:
            # `0` follows `/`.
            wanted = size - len(found)
            members: list[bytes] = await self._connection.execute(
                "ZRANGE",
                self._keys.tasks.pages,
                start,
                f"({owner}0",
                "BYLEX",
                "LIMIT",
                0,
                wanted,
            )
            replies = [self._read(_id_in(member)) for member in members]
            found += [task for one in replies if (task := _task(await one)) is not None]
            if len(members) < wanted:
                break
            start = f"({members[-1].decode()}"
        return found

    async def forget(self, id: str) -> None:
        """Delete a task; see `TaskStore.forget`."""
        task = _task(await self._read(id))
        if task is not None:
            self._connection.execute("UNLINK", self._keys.task(id))
            await self._index("drop", _member(task))

    # --- workers ---

    async def claim(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Claim a task; see `SharedTaskStore.claim`."""
        return bool(await self._run("claim", id, worker, repr(now + lease_s), repr(now)))

    async def renew(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Extend a claim; see `SharedTaskStore.renew`."""
        return bool(await self._run("renew", id, worker, repr(now + lease_s)))

    async def release(self, id: str, worker: str) -> bool:
        """Give a claim back; see `SharedTaskStore.release`."""
        return bool(await self._run("release", id, worker))

    def _read(self, id: str) -> asyncio.Future[Any]:
        return self._connection.execute("HMGET", self._keys.task(id), *_STORED)

    def _run(self, act: str, id: str, *arguments: str | bytes | int) -> asyncio.Future[Any]:
        return self._connection.run(_TASK, [self._keys.task(id)], (act, *arguments))

    def _index(self, act: str, *arguments: str | int) -> asyncio.Future[Any]:
        return self._connection.run(_INDEX, self._keys.tasks, (act, *arguments))


_STORED = ("data", "attempt", "node", "until")


def _task(reply: Sequence[bytes | None]) -> StoredTask | None:
    data, attempt, node, until = reply
    if data is None or attempt is None:
        return None
    task = msgspec.json.decode(data, type=StoredTask)
    return replace(
        task,
        attempt=int(attempt),
        node=None if node is None else node.decode(),
        claimed_until=None if until is None else float(until),
    )


def _data(task: StoredTask) -> tuple[bytes, str, str]:
    """Return the fields that a claim does not change, `final` and `retry`."""
    data = msgspec.json.encode(replace(task, attempt=0, node=None, claimed_until=None))
    return data, str(int(task.is_final)), str(int(task.retry))


def _ttl_s(task: StoredTask, now: float) -> int:
    left = MAX_TTL_S if task.expires_at is None else task.expires_at - now
    return math.ceil(min(max(left, 0), MAX_TTL_S)) + MARGIN_S


def _member(task: StoredTask) -> str:
    owner = _owner_of(task.principal, task.session)
    return f"{owner}/{sortable(task.created_at)}/{task.id}"


def _owner_of(principal: str | None, session: str | None) -> str:
    return digest(principal, None if principal is not None else session)


def _id_in(member: bytes) -> str:
    return member.split(b"/", 2)[2].decode()
