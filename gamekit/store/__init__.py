"""The knowledge base on disk: its root, loading it, and appending to it."""
