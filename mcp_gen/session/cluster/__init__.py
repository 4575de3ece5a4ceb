"""HTTP sessions of several nodes: any request of a session may arrive at any of them.

Imported by: server/serving, and only where there is a cluster.
"""
