"""Tests of servers that share their state: many processes and machines."""
