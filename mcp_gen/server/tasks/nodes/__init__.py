"""Tasks of a cluster: questions between the node of a request and the node of its task.

Imported by: tasks/engine. Loaded for servers with a cluster only.
"""
