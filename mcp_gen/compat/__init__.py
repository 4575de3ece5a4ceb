"""Tools that check peers against the revisions: closed frames, recorded conversations, the demo."""
