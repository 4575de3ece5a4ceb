"""Tests of servers as they are operated: health, their end, log lines, workers, deployments."""
