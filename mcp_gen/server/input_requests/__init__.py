"""Elicitation, sampling, roots: live or by replay.

Imported by: tools, resources, prompts, tasks, mounting, request_services.
"""
