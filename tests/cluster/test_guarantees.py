"""Guarantees of docs/scale.md: every cell of the table has a test that exists."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/scale.md"
HERE = "tests/cluster"

SESSIONS = "sessions/test_any_node.py"
STREAMS = "sessions/test_streams.py"
QUESTIONS = "sessions/test_questions.py"
CHANGES = "sessions/test_changes.py"
NOTICES = "sessions/test_notices.py"
PAIR = "sessions/test_sse_pair.py"
FAILURES = "sessions/test_failures.py"
ROUNDS = "tasks/test_rounds.py"
TASKS = "tasks/test_core_protocol.py"

Cell = tuple[str, str]
"""File below `tests/cluster`, and name of a test without `test_`."""

TESTS: dict[str, tuple[Cell, Cell, Cell, Cell]] = {
    "call without a session (2026-07-28)": (
        (FAILURES, "a_call_without_a_session_is_answered_by_the_others_when_a_node_is_gone"),
        (FAILURES, "a_call_without_a_session_is_answered_late_by_a_node_that_stood_still"),
        (FAILURES, "a_request_without_a_session_that_needs_redis_gets_503_while_it_is_away"),
        (
            FAILURES,
            "a_store_that_comes_back_empty_knows_no_request_state_and_a_new_call_goes_on",
        ),
    ),
    "next round of such a call (`requestState`)": (
        (ROUNDS, "another_node_goes_on_with_the_values_of_the_first_round"),
        (ROUNDS, "another_node_goes_on_with_the_values_of_the_first_round"),
        (FAILURES, "a_request_without_a_session_that_needs_redis_gets_503_while_it_is_away"),
        (
            FAILURES,
            "a_store_that_comes_back_empty_knows_no_request_state_and_a_new_call_goes_on",
        ),
    ),
    "call in a session": (
        (STREAMS, "a_call_whose_node_is_gone_ends_with_an_error"),
        (STREAMS, "a_node_that_was_silent_for_too_long_sends_no_second_answer"),
        (FAILURES, "a_call_in_a_session_is_answered_when_redis_is_there_again"),
        (SESSIONS, "a_store_that_comes_back_empty_ends_the_sessions"),
    ),
    "event of a stream (progress, log messages, questions)": (
        (FAILURES, "events_of_a_node_that_is_gone_are_there_for_a_reconnect_and_none_twice"),
        (STREAMS, "a_node_that_was_silent_for_too_long_sends_no_second_answer"),
        (FAILURES, "a_call_in_a_session_is_answered_when_redis_is_there_again"),
        (FAILURES, "events_are_lost_with_the_session_when_the_store_comes_back_empty"),
    ),
    "answer to a question": (
        (QUESTIONS, "an_answer_to_a_node_that_is_gone_is_refused"),
        (QUESTIONS, "an_answer_to_a_node_that_is_silent_may_come_again"),
        (FAILURES, "an_answer_to_a_question_is_taken_once_the_store_is_there_again"),
        (FAILURES, "an_answer_to_a_question_is_of_no_session_when_the_store_comes_back_empty"),
    ),
    "`list_changed`, `resources/updated`": (
        (
            CHANGES,
            "the_other_stream_tells_of_every_change_when_the_node_of_the_newest_is_gone",
        ),
        (CHANGES, "a_change_that_a_silent_node_has_not_sent_comes_where_its_stream_goes_on"),
        (CHANGES, "a_change_during_an_outage_of_a_node_reaches_all_after_it"),
        (FAILURES, "listen_requests_hear_of_every_list_when_the_store_comes_back_empty"),
    ),
    "notification of an extension, `elicitation/complete`": (
        (NOTICES, "a_notification_of_an_extension_reaches_its_listeners_at_every_node_once"),
        (NOTICES, "a_notification_of_an_extension_that_a_node_has_missed_is_lost_for_it"),
        (NOTICES, "a_notification_of_an_extension_during_an_outage_reaches_all_after_it"),
        (NOTICES, "a_notification_of_an_extension_that_a_node_has_missed_is_lost_for_it"),
    ),
    "`notifications/cancelled`": (
        (FAILURES, "a_cancellation_of_a_call_whose_node_is_gone_is_taken"),
        (STREAMS, "a_node_that_was_silent_for_too_long_sends_no_second_answer"),
        (FAILURES, "a_cancellation_is_taken_once_the_store_is_there_again"),
        (FAILURES, "a_cancellation_is_of_no_session_when_the_store_comes_back_empty"),
    ),
    "task in a process": (
        (TASKS, "a_task_of_a_lost_node_fails_and_says_so"),
        (TASKS, "the_result_of_a_node_that_was_taken_for_lost_is_refused"),
        ("tasks/test_store_down.py", "the_end_of_a_task_is_stored_however_long_its_store_was_down"),
        (FAILURES, "a_task_is_unknown_when_the_store_comes_back_empty"),
    ),
    "stream of 2024-11-05 (HTTP+SSE)": (
        (PAIR, "a_stream_that_has_ended_or_whose_node_is_gone_is_unknown"),
        (PAIR, "a_message_for_a_silent_node_may_come_again"),
        (FAILURES, "a_stream_of_http_sse_stays_open_while_the_store_is_away"),
        (FAILURES, "a_stream_of_http_sse_stays_open_when_the_store_comes_back_empty"),
    ),
}
"""Tests of each row of the table, in the order of its columns."""


def rows() -> list[list[str]]:
    """Return the rows of the table, with their cells."""
    _, _, section = PAGE.read_text("utf-8").partition("\n## What is guaranteed\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def names(path: Path) -> set[str]:
    """Return the names of the test functions of a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in ast.walk(ast.parse(path.read_bytes())) if isinstance(one, kinds)}


def test_every_row_has_its_tests() -> None:
    assert [row[0] for row in rows()] == list(TESTS)
    assert {len(row) for row in rows()} == {5}


@pytest.mark.parametrize("message", TESTS)
def test_the_test_of_every_cell_exists(message: str) -> None:
    missing = [
        (file, name)
        for file, name in TESTS[message]
        if f"test_{name}" not in names(ROOT / HERE / file)
    ]
    assert missing == []
