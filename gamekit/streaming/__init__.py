"""Streams of serving engines: sending requests, reading answers, and what one stream says."""
