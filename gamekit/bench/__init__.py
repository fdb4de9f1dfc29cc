"""Benchmarks: reading streamed answers, the client, the stand-in engine and what runs them."""
