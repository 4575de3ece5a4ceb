"""The resource server: checks the tokens of requests, and says where tokens are to be had.

Imported by: users, proxy.
"""
