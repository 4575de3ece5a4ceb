"""Tests of `mcp_gen.schemas`: vetting, and the worker process."""
