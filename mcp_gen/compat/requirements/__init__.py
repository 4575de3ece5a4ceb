"""Every MUST and SHOULD of the specification, in our words, with its place in each revision."""
