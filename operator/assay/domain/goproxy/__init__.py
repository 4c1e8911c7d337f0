"""The module gateway's decisions as pure functions: grammar of targets, stage 1, stage 2, policy records."""
