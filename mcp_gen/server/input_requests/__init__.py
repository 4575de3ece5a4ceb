"""Elicitation, sampling and roots requests: as server requests or as `input_required` results.

Imported by: tools, resources, prompts, tasks, mounting, request_services.
"""
