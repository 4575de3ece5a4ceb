"""Stubs of servers of others: `nox -s peers`."""
