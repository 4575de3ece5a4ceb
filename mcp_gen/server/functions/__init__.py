"""Python functions to JSON Schema and decoders.

Imported by: tools, resources, prompts, transforms, apps.
"""
