"""Assay: verdicts on coding tasks, by execution on Kubernetes."""

__version__ = "0.1.0"
