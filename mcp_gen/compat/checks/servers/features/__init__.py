"""Checks of what servers offer: tools, prompts, resources, completions, lists, subscriptions."""
