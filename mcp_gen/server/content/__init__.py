"""Content blocks and results.

Imported by: tools, resources, prompts, transforms, mounting.
"""
