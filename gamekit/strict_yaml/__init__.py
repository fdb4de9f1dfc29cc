"""YAML that every reader reads alike: a strict reader that knows its lines, and its writer."""

from gamekit.strict_yaml.document import Document, FieldPath, field_name
from gamekit.strict_yaml.limits import MAX_BYTES, MAX_DEPTH
from gamekit.strict_yaml.reader import parse_yaml, read_yaml
from gamekit.strict_yaml.source import file_bytes
from gamekit.strict_yaml.writer import write_yaml

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Document",
    "FieldPath",
    "field_name",
    "file_bytes",
    "parse_yaml",
    "read_yaml",
    "write_yaml",
]
