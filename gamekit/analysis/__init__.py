"""Conclusions from the knowledge: verdicts on claims, the order of approaches, gates, history."""
