"""Tests of the bridge: every revision in front of a server of any revision."""
