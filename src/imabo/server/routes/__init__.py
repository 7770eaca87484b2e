"""The routes: one module a noun, each with a table of its operations."""

from imabo.server.routes import arms, imports, insight, pulls, studies, system

OPERATIONS = [
    *pulls.OPERATIONS,
    *studies.OPERATIONS,
    *imports.OPERATIONS,
    *arms.OPERATIONS,
    *insight.OPERATIONS,
    *system.OPERATIONS,
]
