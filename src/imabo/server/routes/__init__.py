"""The routes: one module a noun, each with a table of its operations."""

from imabo.server.routes import arms, insight, pulls, studies, system

OPERATIONS = [
    *pulls.OPERATIONS,
    *studies.OPERATIONS,
    *arms.OPERATIONS,
    *insight.OPERATIONS,
    *system.OPERATIONS,
]
