"""The hands: the witness of a sandbox pod, which serves an agent's calls over HTTP and runs them by serve.sh.

``python3 -I -m assay.witness.hands``, standard library alone.  The flow of one call: :mod:`.api` (routes) ->
:mod:`.engine` (queue, deadline, journal) -> :mod:`.channel` (FIFOs) -> serve.sh, and back through a :mod:`.spool`.
What is written to the private volume outlives this process; the task container never sees that volume.
"""
