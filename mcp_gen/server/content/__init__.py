"""Content blocks and tool results.

Imported by: tools, resources, prompts, transforms, mounting.
"""
