"""Callbacks: handlers for the requests that servers send to the client.

Imported by: connecting, client.py.
"""
