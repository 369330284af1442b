"""The only layer that touches files: a port of few calls, the real calls, and the durable steps built on them."""
