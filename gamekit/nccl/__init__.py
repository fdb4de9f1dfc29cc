"""NCCL's settings: what it reads, where Python persists them, and which processes they reach."""
