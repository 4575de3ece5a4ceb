"""Tests of the examination of clients, by what a client does."""
