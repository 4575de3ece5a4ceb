"""Every request of the corpus gets the required response, and the server stays healthy."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.hostile.corpus import Hostile, corpus, sources
from tests.hostile.in_process import sent_to
from tests.hostile.judging import objections
from tests.hostile.target import App, Log, Target, running
from tests.hostile.wire import Socket, Visit, request_of
from tests.support.frames import PER_REQUEST

CORPUS = corpus()
OVER_SOCKETS = [
    # One parser takes all; where the other differs, it has rows of its own.
    *(("httptools", hostile) for hostile in CORPUS if hostile.is_for("httptools")),
    *(("h11", hostile) for hostile in CORPUS if hostile.is_for("h11") and hostile.alone),
]
IN_PROCESS = [hostile for hostile in CORPUS if hostile.is_for("asgi")]


@pytest.fixture(scope="module")
def log() -> Iterator[Log]:
    """Collect the log records of this process."""
    log = Log()
    logging.getLogger().addHandler(log)
    yield log
    logging.getLogger().removeHandler(log)
    assert log.take_failures() == []


@pytest.fixture(scope="module")
def targets(log: Log) -> Iterator[dict[str, Target]]:
    """Return an HTTP server for each parser, shared by all rows."""
    with running("httptools") as one, running("h11") as other:
        yield {"httptools": one, "h11": other}


@pytest.mark.parametrize(
    ("server", "hostile"),
    [pytest.param(s, h, id=f"{s}-{h.theme}-{h.id}") for s, h in OVER_SOCKETS],
)
def test_over_a_socket_it_gets_the_demanded_answer(
    targets: dict[str, Target], log: Log, server: str, hostile: Hostile
) -> None:
    target = targets[server]
    visit, connection = Visit(target, hostile.base.revision), Socket(target)
    try:
        session = visit.begin(hostile.session_is)
        connection.send(request_of(hostile, visit.host, session), half=hostile.half)
        method = hostile.method or hostile.base.method
        answers = [connection.answer(method, stream=hostile.stream) for _ in range(hostile.answers)]
    finally:
        connection.close()
        visit.end()
    wrong = [one for answer in answers for one in objections(hostile, server, answer)]
    assert wrong == []
    assert Visit(target, PER_REQUEST).is_served()
    assert log.take_failures() == []


@pytest.mark.parametrize(
    "hostile", [pytest.param(one, id=f"{one.theme}-{one.id}") for one in IN_PROCESS]
)
async def test_in_this_process_it_gets_the_demanded_answer(app: App, hostile: Hostile) -> None:
    answer = await sent_to(app, hostile)
    assert objections(hostile, "asgi", answer) == []


@pytest.fixture(scope="module")
def app() -> App:
    """Return one app for all rows: each row closes it, and it starts again."""
    return App()


# --- the corpus itself ---


def test_there_are_two_hundred_requests_written_one_by_one() -> None:
    assert len([one for one in CORPUS if one.alone]) >= 200


def test_no_two_requests_are_called_the_same() -> None:
    names = [(one.theme, one.id) for one in CORPUS]
    assert len(set(names)) == len(names)


def test_every_request_says_who_demands_its_answer() -> None:
    unknown = {one.source for one in CORPUS} - sources().keys() - {"ours"}
    assert unknown == set()
    assert [one.id for one in CORPUS if one.source == "ours" and not one.why] == []


def test_every_source_is_one_of_a_request() -> None:
    assert sources().keys() - {one.source for one in CORPUS} == set()
