"""Servers made with SDKs of others, in the plain style of their documentation, to be examined.

Each has the same features: tools that add, report progress, return structured data and fail, a
resource, a resource template and a prompt. None is made to break a rule.
"""
