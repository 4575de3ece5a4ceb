"""Transports: stdio, child process, memory, sockets and HTTP.

Imported by: server/serving, client/connecting, compat.
"""
