"""The client end over HTTP.

Imported by: client/connecting.
"""
