"""Memory of large messages: what the system has to give again for each of them."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from mcp_gen.core.text_encoding import expect_large_blocks

def faults_of_messages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        # Three copies of 1 MiB, as of a message, its frame and what a socket has not taken.
        copies = [bytes([one]) * (1 << 20) for one in range(3)]
        del copies
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults_of_messages()
without = faults_of_messages()
expect_large_blocks()
faults_of_messages()
print(without, faults_of_messages())
"""
PAGES = 100 * 3 * 256


# Not listed in tests/support/skips.py: CI has glibc, where a skip is a failure.
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators learn nothing")
def test_the_pages_of_large_messages_are_there_for_the_next_ones() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    without, kept = map(int, ran.stdout.split())
    assert without > PAGES / 10
    assert kept < without / 10
