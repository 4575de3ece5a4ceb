"""Tasks, as the client begins them, waits for them, answers for them, and runs them itself."""
