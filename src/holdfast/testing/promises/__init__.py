"""The promises of the store protocol, one class for each; ``holdfast.testing.conformance`` gathers them."""
