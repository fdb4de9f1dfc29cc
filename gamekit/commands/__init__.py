"""The command line: thin commands over the library, one file each.

No module here imports pydantic, numpy, jinja2, yaml or rich at its top: ``gamekit --help`` is
instant, and a command loads what it needs when it runs.
"""
