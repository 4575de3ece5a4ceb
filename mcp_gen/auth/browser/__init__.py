"""Login by a browser: the text shown first, the redirect on loopback, pasted redirects.

Imported by: auth/client, cli, users.
"""
