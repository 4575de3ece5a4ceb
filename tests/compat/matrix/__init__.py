"""Tests of `mcp-gen matrix`: definitions, installation, cells, verdicts and forms."""
