"""What servers may ask of the client.

Imported by: connecting, client.py.
"""
