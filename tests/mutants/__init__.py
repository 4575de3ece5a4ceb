"""Mutation tests: small faults put into the sources, and the tests that must find them."""
