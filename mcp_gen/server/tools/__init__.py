"""Tools.

Imported by: transforms, tasks, apps, api, dispatch, mounting, serving.
"""
