"""The command line: one ``imabo`` command for studies in a database or behind a service."""

from imabo.cli.entry import main

__all__ = ["main"]
