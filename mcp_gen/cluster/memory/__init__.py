"""Clusters in memory: several apps in one process.

Imported by: cluster.
"""
