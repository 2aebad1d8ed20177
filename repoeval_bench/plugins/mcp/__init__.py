"""A server of the Model Context Protocol, so that agents and editors can ask for a chunker, a test, or a query."""
