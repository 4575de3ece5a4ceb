"""Resources and templates.

Imported by: prompts (completion), apps, api, dispatch, mounting.
"""
