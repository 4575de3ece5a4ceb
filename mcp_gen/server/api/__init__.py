"""Decorator faces shared by Server and SessionFeatures.

Imported by: server.py.
"""
