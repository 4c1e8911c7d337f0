"""The witness: the sidecar that proves a run's isolation and records every byte of its output.

Everything here runs inside a run's pod as ``python3 -I -m assay.witness`` with the standard library alone;
:mod:`assay.witness.record` is its other half, the operator's pure decoder of what the witness printed.
"""
