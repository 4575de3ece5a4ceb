"""Handlers of a bus, callbacks of a cluster's changes, hooks of its heartbeat.

Imported by: cluster/memory, cluster/redis.
"""
