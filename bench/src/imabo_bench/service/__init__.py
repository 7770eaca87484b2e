"""Load benchmark of the service: ratios measured side by side over real sockets."""
