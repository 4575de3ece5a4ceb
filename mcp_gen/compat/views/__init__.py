"""Views of a transcript: requests with their answers, lists, tasks, lines. They judge nothing."""
