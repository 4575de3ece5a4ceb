"""TaskNodes: tasks that run at other nodes of a cluster, and what other nodes ask about ours."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import McpError, ProtocolError
from mcp_gen.core.stores.failures import BusError, NodeGone, StoreDown
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.tasks.nodes.attachments import Attachments
from mcp_gen.server.tasks.nodes.messages import (
    ASKED,
    CHANGED,
    Attach,
    Changed,
    Detach,
    NodeReply,
    Question,
    RemoteError,
    Respond,
    Responded,
    decode_changed,
    decode_question,
    decode_reply,
)
from mcp_gen.server.tasks.nodes.remote_channel import RemoteChannel, RemoteRequests
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence

    from mcp_gen.core.stores.bus import BusMessage
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.profile import Profile

__all__ = ["NODE_LOST", "TaskNodes"]

NODE_LOST = "the node that ran the task is lost"
"""Message of a task that failed because nothing runs it any more."""

MAX_TOLD = 1_000
"""Most tasks of other nodes whose last state is remembered."""

_log = logging.getLogger("mcp_gen.server")


class TaskNodes:
    """Connects the task manager of this node to those of the other nodes of a cluster.

    Every node reads the tasks from the store that they share. The node that runs a task gets what
    its handler waits for: responses to input requests, and the requests for its result, through
    which the handler reaches the client. Each change is broadcast: whoever waits reads the store.

    Args:
        manager: Task manager of this node.
        cluster: The cluster.
    """

    def __init__(self, manager: TaskManager, cluster: Cluster) -> None:
        self._manager = manager
        self._cluster = cluster
        self._watches: dict[str, set[asyncio.Event]] = {}
        self._following: dict[str, bool] = {}
        """Tasks whose changes are being acted on; True if there was another one."""
        self._told: OrderedDict[str, StoredTask] = OrderedDict()
        """Tasks of other nodes, as the clients of this node were told last."""
        self._channels: dict[str, tuple[RunningTask, RemoteChannel]] = {}
        self._requests = RemoteRequests(self.ask)
        self._attachments = Attachments(self.ask)
        cluster.bus.on(CHANGED, self._on_changed)
        cluster.bus.answer(ASKED, self._answer)
        cluster.bus.on_gap(self._on_gap)
        cluster.on_lost(self._on_lost)

    @property
    def node(self) -> str:
        """Id of this node."""
        return self._cluster.node

    # --- changes ---

    def publish(self, task: StoredTask) -> None:
        """Tell all nodes that a stored task has changed."""
        self._wake(task.id)
        self._manager.spawn(self._publish(task))

    async def _publish(self, task: StoredTask) -> None:
        changed = Changed(task.id)
        try:
            await self._cluster.bus.publish(CHANGED, msgspec.json.encode(changed))
        except BusError as error:
            # Whoever waits polls the store as well.
            _log.debug("task %s: its change was not told: %s", task.id, error)

    def _on_changed(self, message: BusMessage) -> None:
        if message.node == self.node:
            return
        changed = decode_changed(message.body)
        self._wake(changed.id)
        manager = self._manager
        id = changed.id
        if id in manager.running or id in manager.followed or manager.is_watched(id):
            self._act_on(id)

    def _on_gap(self) -> None:
        """Look at all that this node takes part in: changes may have been missed."""
        for id in list(self._watches):
            self._wake(id)
        for id in [*self._manager.running, *self._manager.followed]:
            self._act_on(id)

    def _act_on(self, id: str) -> None:
        if id in self._following:
            self._following[id] = True
        else:
            self._manager.spawn(self._follow_all(id))

    async def _follow_all(self, id: str) -> None:
        """Act on changes of a task in their order; those that come meanwhile are one."""
        self._following[id] = True
        try:
            while self._following[id]:
                self._following[id] = False
                await self._follow(id)
        finally:
            del self._following[id]

    async def _follow(self, id: str) -> None:
        """Act on a change that another node has made."""
        manager = self._manager
        task, running = await manager.store.load(id), manager.running.get(id)
        if running is not None and running.is_stored and (task is None or task.is_final):
            # Another node has ended it: this stops the handler.
            await manager.run_on_task_loop(running, running.change())
        elif task is not None and running is None and self._told.get(id) != task:
            # A broadcast may come after the state that it tells of was read.
            self._told[id] = task
            self._told.move_to_end(id)
            if len(self._told) > MAX_TOLD:
                self._told.popitem(last=False)
            manager.heard(task)

    def _wake(self, id: str) -> None:
        for event in self._watches.get(id, ()):
            event.set()

    @contextmanager
    def watch(self, id: str) -> Generator[Callable[[float], Awaitable[None]]]:
        """Watch a task: yield a function that waits for its next change, at most some seconds."""
        event = asyncio.Event()
        self._watches.setdefault(id, set()).add(event)

        async def changed(limit_s: float) -> None:
            try:
                async with asyncio.timeout(limit_s):
                    await event.wait()
            except TimeoutError:
                pass
            event.clear()

        try:
            yield changed
        finally:
            left = self._watches[id]
            left.discard(event)
            if not left:
                del self._watches[id]

    # --- tasks of other nodes ---

    async def check(self, task: StoredTask) -> StoredTask:
        """Return a task that does not run here; fail it first if its node is lost.

        Args:
            task: The task, not final.
        """
        if task.node is None or task.node == self.node:
            is_lost = task.node is not None
        else:
            is_lost = await self._is_lost(task.node)
        return await self.fail(task, NODE_LOST, "node_lost") if is_lost else task

    async def _is_lost(self, node: str) -> bool:
        try:
            return not await self._cluster.is_alive(node)
        except StoreDown:
            # Nobody knows: the next look tells.
            return False

    async def fail(self, task: StoredTask, message: str, reason: str) -> StoredTask:
        """End a task that nothing runs any more, unless it has ended or gone on meanwhile."""
        error = ErrorObject(ProtocolError.code, message, {"reason": reason})
        failed = replace(
            task,
            status="failed",
            message=message,
            error=Raw(encode(error)),
            questions={},
            updated_at=self._manager.now(),
        )
        if await self._manager.store.save(failed):
            self.publish(failed)
            self._manager.heard(failed)
            return failed
        return await self._manager.store.load(task.id) or failed

    async def respond(self, task: StoredTask, responses: Mapping[str, Any]) -> None:
        """Pass responses of the client to the node that runs a task.

        Raises:
            McpError: A response does not fit, or the node cannot be reached now.
        """
        if task.node is None:
            return
        given = {key: Raw(encode(one)) for key, one in responses.items()}
        try:
            reply = await self.ask(task.node, Respond(task.id, given))
        except NodeGone:
            # The claim of a worker may be valid for some seconds more.
            if task.arguments == NOTHING:
                await self.check(task)
            return
        except BusError as error:
            what = f"the node that runs the task does not answer; try again: {error}"
            raise McpError(ProtocolError.code, what) from None
        if reply.error is not None:
            raise McpError(reply.error.code, reply.error.message, reply.error.data)

    @asynccontextmanager
    async def attach(
        self, channel: Channel, profile: Profile
    ) -> AsyncGenerator[Callable[[StoredTask], Awaitable[None]]]:
        """Offer the channel of a request for a result to the node that runs the task.

        Yields:
            A function to call with the task as it is now: it follows the task to its node.
        """
        attachment, id = self._attachments.add(channel, profile), ""
        attached_to: str | None = None

        async def follow(task: StoredTask) -> None:
            nonlocal attached_to, id
            if task.node is None or task.node == self.node:
                return
            if task.node == attached_to and not self._attachments.must_attach_again(attachment):
                return
            try:
                reply = await self.ask(task.node, Attach(task.id, attachment))
            except BusError:
                return
            if reply.is_known:
                attached_to, id = task.node, task.id

        try:
            yield follow
        finally:
            self._attachments.remove(attachment)
            if attached_to is not None:
                self._manager.spawn(self._detach(attached_to, id, attachment))

    async def _detach(self, node: str, id: str, attachment: str) -> None:
        try:
            await self.ask(node, Detach(id, attachment))
        except BusError as error:
            _log.debug("task %s: a request for its result could not be detached: %s", id, error)

    def _on_lost(self, old: str) -> None:
        """End what runs here: other nodes take it for lost."""
        lost: list[StoredTask] = []
        for running in list(self._manager.running.values()):
            if not running.is_stored:
                continue
            running.is_abandoned = True
            if running.record.arguments == NOTHING:
                lost.append(running.record)
            running.loop.call_soon_threadsafe(running.stop)
        if lost:
            self._manager.spawn(self._fail_lost(lost))

    async def _fail_lost(self, tasks: Sequence[StoredTask]) -> None:
        try:
            await asyncio.gather(*(self.fail(task, NODE_LOST, "node_lost") for task in tasks))
        except StoreDown as error:
            # Whoever asks for one of them finds out.
            _log.warning("%d lost tasks of this node are not ended yet: %s", len(tasks), error)

    # --- questions ---

    async def ask(self, node: str, question: Question) -> NodeReply:
        """Ask a node.

        Raises:
            BusError: It is gone, silent, or the bus is down.
        """
        body = msgspec.json.encode(question)
        return decode_reply(await self._cluster.bus.ask(node, ASKED, body))

    async def _answer(self, node: str, body: bytes) -> bytes:
        return msgspec.json.encode(await self._reply(node, decode_question(body)))

    async def _reply(self, node: str, question: Question) -> NodeReply:
        if isinstance(question, Respond):
            return await self._respond(question)
        if isinstance(question, Attach):
            return self._attach(node, question)
        if isinstance(question, Detach):
            return NodeReply(self._detached(question.attachment))
        if isinstance(question, Responded):
            return NodeReply(self._requests.responded(question))
        return self._attachments.reply(node, question)

    async def _respond(self, question: Respond) -> NodeReply:
        manager, running = self._manager, self._manager.running.get(question.id)
        if running is None or running.input is None:
            return NodeReply(is_known=False)
        accepted = running.input.accept_responses(question.responses)
        try:
            await manager.run_on_task_loop(running, accepted)
        except McpError as error:
            return NodeReply(error=RemoteError(error.code, error.message, error.data))
        except ProtocolError as error:
            return NodeReply(error=RemoteError(error.code, str(error)))
        return NodeReply()

    def _attach(self, node: str, question: Attach) -> NodeReply:
        running = self._manager.running.get(question.id)
        if running is None or running.channel is None:
            return NodeReply(is_known=False)
        known = self._channels.get(question.attachment)
        if known is None or not known[1].reachable:
            self._detached(question.attachment)
            poll_s = self._manager.options.poll_interval_s
            channel = RemoteChannel(self._requests, node, question.attachment, running, poll_s)
            self._channels[question.attachment] = running, channel
            running.channel.open(channel)
        return NodeReply()

    def _detached(self, attachment: str) -> bool:
        found = self._channels.pop(attachment, None)
        if found is None:
            return False
        running, channel = found
        channel.close()
        if running.channel is not None:
            running.channel.close(channel)
        return True
