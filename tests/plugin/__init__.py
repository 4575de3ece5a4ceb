"""Tests of the pytest plugin: projects of users, each run by pytest in a process."""
