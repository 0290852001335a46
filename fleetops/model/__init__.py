"""The nouns of the project: frozen dataclasses on the standard library alone."""
