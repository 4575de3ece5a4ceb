"""The intermediate model of one revision.

Imported by: extensions, emit, draft, __main__.
"""
