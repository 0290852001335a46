"""Connections to hosts; the only importer of fabric and paramiko."""
