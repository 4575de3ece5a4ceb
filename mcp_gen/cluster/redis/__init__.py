"""Clusters over Redis.

Imported by: cluster.
"""
