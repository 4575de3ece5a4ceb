"""Registries and paginated lists.

Imported by: tools, resources, prompts, api, mounting, serving.
"""
