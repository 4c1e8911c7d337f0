"""The episode gateway's decisions: requests read, tools described, texts bounded, answers framed.  All of it is pure."""
