"""Sizes beyond which a YAML file is refused, the same for reader and writer."""

MAX_BYTES = 16 * 1024 * 1024
"""Largest file, in bytes."""

MAX_DEPTH = 64
"""Most mappings and lists inside one another."""

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
"""What a signed 64-bit integer holds: readers in other languages wrap or round beyond it."""

MAX_NUMBER_CHARACTERS = 100
"""Longest text read as a number; a double needs at most 25, and int() itself gives up at 4300."""
