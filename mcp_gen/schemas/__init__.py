"""JSON Schemas of users and peers: vetted, checked in this process or by a worker with a deadline.

Imported by: server/functions, server/tools, server/transforms, client/tools, client/callbacks.
"""
