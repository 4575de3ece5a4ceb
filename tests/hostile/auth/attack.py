"""Attacks, each with its twin: the same conversation with an allowed value, which has to pass.

A table has both values in each row, so that no attack is without its twin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pytest

__all__ = ["ATTACKS", "PASSED", "Attack", "Case", "attacks"]

V = TypeVar("V")

PASSED = "passed"
"""Outcome of a conversation in which nothing was refused."""
ATTACKS: list[tuple[str, str]] = []
"""Group and name of each attack whose module was imported."""


@dataclass(frozen=True)
class Attack(Generic[V]):
    """One attack.

    Args:
        name: What is attacked, and how.
        hostile: The value that makes a conversation an attack.
        allowed: The value of its twin.
        refusal: Pattern of the outcome of the attack: the demanded status or error.
    """

    name: str
    hostile: V
    allowed: V
    refusal: str


@dataclass(frozen=True)
class Case(Generic[V]):
    """An attack, or its twin.

    Args:
        given: The value for the conversation.
        is_hostile: False for the twin.
        refusal: Pattern of the outcome of the attack.
    """

    given: V
    is_hostile: bool
    refusal: str

    def judge(self, outcome: str, sent: Sequence[Any]) -> None:
        """Check the outcome, and what was sent that an attack must not cause.

        Args:
            outcome: `PASSED`, or what the refusal said.
            sent: What an attack must not cause, and its twin must: otherwise nobody would see it.
        """
        if self.is_hostile:
            assert re.search(self.refusal, outcome), f"{outcome}, {sent}"
            assert list(sent) == [], outcome
        else:
            assert outcome == PASSED, outcome
            assert list(sent) != [], "an attack would not be seen"


def attacks(group: str, *table: Attack[Any]) -> pytest.MarkDecorator:
    """Parametrize a test by attacks and their twins, as its parameter `case`.

    Args:
        group: What they have in common.
        table: The attacks.
    """
    cases: list[Any] = []
    for one in table:
        # 1 and True are equal, and yet not the same to a server.
        assert repr(one.hostile) != repr(one.allowed), one.name
        ATTACKS.append((group, one.name))
        hostile, twin = Case(one.hostile, True, one.refusal), Case(one.allowed, False, one.refusal)
        cases += [
            pytest.param(hostile, id=one.name),
            pytest.param(twin, id=f"twin of {one.name}"),
        ]
    return pytest.mark.parametrize("case", cases)
