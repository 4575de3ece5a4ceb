"""Programs under test: ours, and bare ones that do the same wire work without an SDK."""
