"""What one side's revision cannot say, and what the bridge does about it.

`docs/bridge.md` shows this table; `tests/bridge/test_table.py` compares them, and each row has a
test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import mcp_wire
from mcp_wire.profile import Profile

__all__ = ["SITUATIONS", "Situation", "SpecPage"]


class SpecPage(NamedTuple):
    """Page of the specification that a situation rests on.

    Args:
        path: Path of the page, below the address of a revision.
        holds_at: Returns True for the profiles of the revisions whose page it is.
    """

    path: str
    holds_at: Callable[[Profile], bool]

    def links(self) -> Mapping[str, str]:
        """Return the address of the page, by revision."""
        profiles = map(mcp_wire.profile, mcp_wire.REVISIONS)
        return {one.revision: one.spec + self.path for one in profiles if self.holds_at(one)}


class Situation(NamedTuple):
    """Situation in which the revisions of both sides differ in what they can say.

    Args:
        what: The situation.
        how: `emulated`: both sides see what their revision has; `refused`: with an error, or by not
            declaring it; `dropped`: nobody is told.
        answer: What the bridge does.
        pages: Where the specification says so.
        test: Test that holds it, as `module::name` of `tests/bridge`.
    """

    what: str
    how: Literal["dropped", "emulated", "refused"]
    answer: str
    pages: tuple[SpecPage, ...]
    test: str


def _asks_live(profile: Profile) -> bool:
    return profile.asks_client == "server_request"


def _asks_in_results(profile: Profile) -> bool:
    return profile.asks_client == "input_required"


def _has_sessions(profile: Profile) -> bool:
    return profile.session_state


def _listens(profile: Profile) -> bool:
    return profile.listen is not None


def _subscribes(profile: Profile) -> bool:
    return profile.listen is None


def _core_tasks(profile: Profile) -> bool:
    return profile.tasks == "core"


def _every(profile: Profile) -> bool:
    return True


_MRTR = SpecPage("/basic/patterns/mrtr", _asks_in_results)
_SAMPLING = SpecPage("/client/sampling", _asks_live)
_ELICITATION = SpecPage("/client/elicitation", lambda one: one.elicit is not None)
_ROOTS = SpecPage("/client/roots", _every)
_LIFECYCLE = SpecPage("/basic/lifecycle", _has_sessions)
_LOGGING = SpecPage("/server/utilities/logging", _every)
_LISTEN = SpecPage("/basic/patterns/subscriptions", _listens)
_RESOURCES = SpecPage("/server/resources", _subscribes)
_TASKS = SpecPage("/basic/utilities/tasks", _core_tasks)

SITUATIONS: tuple[Situation, ...] = (
    Situation(
        "The server asks during a call; the client's revision has questions in results only",
        "emulated",
        "The call ends with `input_required` once nothing more has come for `settle_s`. The "
        "server's call stays open in this process, and the retry continues it",
        (_MRTR, _SAMPLING),
        "test_questions::test_a_question_of_the_server_is_answered_by_the_caller",
    ),
    Situation(
        "Several questions of one call come together",
        "emulated",
        "They are sent in one result",
        (_MRTR,),
        "test_questions::test_questions_that_come_together_are_sent_together",
    ),
    Situation(
        "The server answers with `input_required`; the client's revision has requests",
        "emulated",
        "The questions are sent as requests, and the call again with the answers",
        (_MRTR, _SAMPLING),
        "test_questions::test_a_question_of_the_server_is_answered_by_the_caller",
    ),
    Situation(
        "The same retry comes twice",
        "emulated",
        "Both get the same result; the server's tool runs once",
        (_MRTR,),
        "test_questions::test_a_retry_that_is_sent_twice_gets_the_result_and_the_tool_runs_once",
    ),
    Situation(
        "No retry comes",
        "dropped",
        "The server's call is cancelled after `answer_timeout_s`",
        (_MRTR,),
        "test_questions::test_a_call_whose_retry_does_not_come_is_cancelled_at_the_server",
    ),
    Situation(
        "More than `max_open_calls` calls wait for answers",
        "refused",
        "The oldest call of the client that has most is cancelled; its retry gets an error with "
        '`data.reason` "suspended call gone"',
        (_MRTR,),
        "test_questions::"
        "test_the_oldest_of_too_many_open_calls_is_cancelled_and_its_retry_is_refused",
    ),
    Situation(
        "The retry comes to another process, or after a restart",
        "refused",
        'An error with `data.reason` "suspended call gone"; without `request_state_keys`, that '
        "the state was not made here",
        (_MRTR,),
        "test_questions::test_a_retry_at_another_process_is_refused_by_name",
    ),
    Situation(
        "The server asks outside of any call; the client has no session",
        "refused",
        "An error. The bridge answers `ping` and `roots/list` itself, the latter with the roots "
        "that a client gave last",
        (_MRTR, _SAMPLING),
        "test_questions::test_questions_outside_of_calls_are_refused_for_clients_without_sessions",
    ),
    Situation(
        "The server asks outside of any call; the client has a session",
        "emulated",
        "The question is sent as a request",
        (_SAMPLING, _LIFECYCLE),
        "test_questions::test_questions_outside_of_calls_reach_the_client_of_a_session",
    ),
    Situation(
        "A client without elicitation calls a tool that needs it",
        "refused",
        "The error of the client's revision",
        (_ELICITATION,),
        "test_questions::test_a_client_without_elicitation_gets_the_error_of_its_revision",
    ),
    Situation(
        "The server chooses by capabilities of the handshake; the client declares them per request",
        "emulated",
        "One session with the server per principal, or connection, and set of capabilities",
        (_LIFECYCLE,),
        "test_upstreams::test_clients_without_sessions_share_by_principal_and_capabilities",
    ),
    Situation(
        "The server could keep the roots of a session; the client has none",
        "refused",
        "`roots.listChanged` is not declared, so each call asks anew",
        (_ROOTS,),
        "test_questions::test_roots_of_one_call_are_not_kept_for_the_next",
    ),
    Situation(
        "`resources/subscribe` on one side, `subscriptions/listen` on the other",
        "emulated",
        "Each side subscribes in its way; updates reach exactly who subscribed",
        (_LISTEN, _RESOURCES),
        "test_changes::test_a_change_of_a_resource_reaches_who_subscribed",
    ),
    Situation(
        "`list_changed` unasked on one side, by `subscriptions/listen` on the other",
        "emulated",
        "The bridge listens to the server, and tells sessions and those that listen",
        (_LISTEN, _RESOURCES),
        "test_changes::test_a_change_of_a_list_reaches_the_client",
    ),
    Situation(
        "`logging/setLevel` on one side, a log level per request on the other",
        "emulated",
        "The level of a session goes with its requests; the level of a request is set at the "
        "server if it is lower than before, and each request gets its own",
        (_LOGGING,),
        "test_changes::test_the_log_level_of_the_client_holds",
    ),
    Situation(
        "A log message outside of any call; the client has no session",
        "dropped",
        "Log messages of its revision belong to requests",
        (_LOGGING,),
        "test_changes::test_a_message_outside_of_calls_is_dropped_without_a_session",
    ),
    Situation(
        "`notifications/elicitation/complete`; the client's revision has none",
        "dropped",
        "The retry is the sign that the user is done",
        (_ELICITATION,),
        "test_changes::test_an_end_of_an_elicitation_is_not_told_where_no_revision_has_it",
    ),
    Situation(
        "Both sides have the same tasks",
        "emulated",
        "All requests of tasks are forwarded, `tasks/list` and the blocking `tasks/result` among "
        "them",
        (_TASKS,),
        "test_tasks::test_tasks_pass_where_both_sides_have_the_same",
    ),
    Situation(
        "A tool that only runs as a task; the client's revision has other tasks or none",
        "emulated",
        "It is called as a task, and the call is answered when the task has ended. Its questions "
        "are those of the call, and cancelling the call cancels the task",
        (_TASKS,),
        "test_tasks::test_a_tool_that_needs_a_task_is_called_as_one_for_clients_without",
    ),
    Situation(
        "The client asks for a task; the server's revision has other tasks or none",
        "refused",
        "Tasks are not declared; `task` of a call is ignored, and `tasks/get`, `tasks/list`, "
        "`tasks/result` and `tasks/cancel` are unknown methods",
        (_TASKS,),
        "test_tasks::test_a_request_for_a_task_is_a_plain_call_where_the_server_has_none",
    ),
    Situation(
        "The client declares the tasks extension; the server's revision has none",
        "refused",
        "It is not declared to the client; its methods are unknown",
        (_TASKS,),
        "test_tasks::test_the_extension_is_not_offered_in_front_of_a_server_without_it",
    ),
    Situation(
        "Status notifications of the tasks extension by `subscriptions/listen`",
        "refused",
        "Not granted, unless messages are copied: clients poll with `tasks/get`",
        (_LISTEN,),
        "test_tasks::test_notifications_of_extension_tasks_are_not_granted",
    ),
    Situation(
        "Tasks on the client's side",
        "refused",
        "Not declared to the server, unless messages are copied",
        (_TASKS,),
        "test_tasks::test_tasks_of_the_client_are_not_declared_to_the_server",
    ),
    Situation(
        "A batch; the server's revision has none",
        "emulated",
        "Its entries are forwarded one by one, and answered together",
        (SpecPage("/basic", lambda one: one.allows_batches),),
        "test_calls::test_a_batch_is_forwarded_entry_by_entry",
    ),
    Situation(
        "A stream over HTTP broke, or `Last-Event-ID` is sent",
        "emulated",
        "The bridge resumes its own streams, and its client those of the server",
        (SpecPage("/basic/transports", lambda one: one.resumes_streams),),
        "test_calls::test_a_stream_is_resumed_at_the_bridge",
    ),
    Situation(
        "Headers that repeat tool arguments; the server's revision has none",
        "emulated",
        "They are checked against the server's tools",
        (
            SpecPage(
                "/basic/transports/streamable-http",
                lambda one: one.param_header_prefix is not None,
            ),
        ),
        "test_upstreams::test_a_mirrored_argument_that_differs_from_its_header_is_refused",
    ),
    Situation(
        "Cache hints; the server's revision has none",
        "emulated",
        "Results are stale at once and private",
        (SpecPage("/server/utilities/caching", lambda one: one.cache_hints),),
        "test_calls::test_results_of_a_server_without_cache_hints_are_stale_at_once",
    ),
    Situation(
        "The capability `completions`; the server's revision has none",
        "emulated",
        "It is declared: a server that has no completions answers as it does",
        (SpecPage("/server/utilities/completion", _every),),
        "test_calls::test_completions_are_declared_where_the_server_could_not_say_it_has_them",
    ),
    Situation(
        "A field that the receiver's revision lacks",
        "dropped",
        "Logged, and listed with path and reason in `_meta` under `mcp-gen/losses`",
        (SpecPage("/basic", _every),),
        "test_calls::test_what_a_revision_cannot_say_is_listed_in_meta_and_logged_once",
    ),
    Situation(
        "An error whose code differs by revision",
        "emulated",
        "It has the code of the client's revision",
        (SpecPage("/server/resources", _every),),
        "test_calls::test_an_error_has_the_code_of_the_clients_revision",
    ),
    Situation(
        "Methods beside the protocol, and other extensions",
        "refused",
        "Unknown methods, unless messages are copied",
        (SpecPage("/basic", _every),),
        "test_splice::test_a_server_of_another_revision_is_asked_once_and_answered_for",
    ),
    Situation(
        "The server is lost during a call of a tool",
        "refused",
        "An error: it is never sent twice. The next request connects again",
        (SpecPage("/server/tools", _every),),
        "test_upstreams::test_a_call_of_a_tool_is_not_repeated_after_the_server_was_lost",
    ),
)
"""Every situation, in the order of the page."""
