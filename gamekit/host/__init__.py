"""The machine as evidence: what it is, which never changes by itself, and the state it is in."""
