"""Load on a serving engine: when requests are sent, and the figures of all of them together."""
