"""Tests of sessions in a cluster over Redis: the same as over memory, with other nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import signature
from typing import Any

import pytest

from mcp_gen.cluster import Redis
from tests.cluster.sessions import (
    nodes,
    test_any_node,
    test_changes,
    test_questions,
    test_sse_pair,
    test_streams,
)
from tests.support.frames import HANDSHAKE
from tests.support.processes.redis_server import RedisServer

SAME: list[Callable[..., Awaitable[None]]] = [
    partial(test_any_node.test_a_session_is_answered_by_every_node, HANDSHAKE),
    test_any_node.test_a_session_ended_at_one_node_is_unknown_at_all,
    test_any_node.test_a_change_at_one_node_is_known_at_the_others,
    test_any_node.test_nodes_that_change_different_keys_at_once_lose_none,
    test_any_node.test_the_number_of_sessions_is_limited_over_all_nodes,
    test_any_node.test_the_state_of_a_key_is_the_same_at_every_node,
    test_any_node.test_a_full_cluster_ends_the_session_that_was_silent_for_longest,
    test_any_node.test_a_session_goes_on_when_the_app_that_began_it_has_ended,
    partial(test_streams.test_a_stream_goes_on_at_another_node_while_its_handler_runs, HANDSHAKE),
    partial(test_streams.test_a_stream_that_has_ended_is_replayed_at_another_node, HANDSHAKE),
    test_streams.test_a_stream_can_go_on_at_a_third_node_and_at_home_again,
    partial(test_streams.test_a_forged_event_id_is_refused_at_every_node, "r{k}9-0"),
    test_streams.test_an_event_id_of_another_session_reads_nothing,
    test_streams.test_a_handler_that_closes_its_stream_is_polled_at_another_node,
    test_streams.test_a_cancellation_at_another_node_ends_the_call,
    partial(test_questions.test_an_answer_at_another_node_reaches_the_handler, HANDSHAKE),
    test_questions.test_an_answer_that_comes_twice_is_refused_at_every_node,
    partial(test_questions.test_progress_of_a_question_at_another_node_reaches_the_handler, "ping"),
    test_questions.test_a_question_of_no_request_reaches_the_one_open_stream_at_another_node,
    test_questions.test_a_question_waits_for_a_stream_at_whatever_node,
    test_questions.test_a_question_of_a_node_that_came_later_finds_the_stream,
    partial(test_changes.test_a_change_at_any_node_reaches_one_stream_of_a_session_once, HANDSHAKE),
    test_changes.test_an_update_reaches_only_sessions_that_subscribed_at_whatever_node,
    test_changes.test_a_change_reaches_listen_requests_at_every_node_once,
    test_changes.test_a_change_while_no_stream_was_open_comes_with_the_next_one_once,
    test_changes.test_a_stream_that_is_resumed_at_another_node_is_the_one_that_goes_on,
    test_changes.test_a_resumed_stream_does_not_take_its_client_back,
    test_sse_pair.test_a_message_reaches_the_node_that_has_the_stream,
]


def name_of(claim: Any) -> str:
    """Return the name of a test."""
    name: str = getattr(claim, "func", claim).__name__
    return name.removeprefix("test_")


@pytest.mark.parametrize("claim", SAME, ids=name_of)
async def test_over_redis(
    claim: Callable[..., Awaitable[None]],
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def clusters(number: int, heartbeat_s: float) -> list[Redis]:
        return [redis_server.node() for _ in range(number)]

    monkeypatch.setattr(nodes, "MAKE_CLUSTERS", clusters)
    await (claim(monkeypatch) if signature(claim).parameters else claim())
