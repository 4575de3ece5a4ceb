"""The pytest plugin: connects tests to servers and clients, and judges every frame."""
