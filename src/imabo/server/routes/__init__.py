"""The routes: one module a noun; ``imabo.server.operations`` has the table of them."""
