"""The MCP server: the workspace for clients of the Model Context Protocol.

``protocol`` implements the protocol, with and without handshake, and knows nothing of holdfast; ``stdio`` and ``http``
are its transports; ``offer`` provides ``tools``, ``resources`` and ``prompts`` over one ``pool``.
"""
