"""Tasks on the workers of a job engine: submitting, claiming and running them.

Imported by: dispatch, serving, cli. Loaded for servers with `Tasks(engine=...)` only.
"""
