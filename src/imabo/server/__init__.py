"""The service: studies over HTTP. ``imabo serve`` runs it; ``imabo.server.app`` makes the app."""
