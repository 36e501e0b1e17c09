"""The claims of each lesson and how their evidence is collected: one file for each lesson, loaded when it is asked for.

A file holds ``CLAIMS``, a tuple of `bertlook_teach.claims.Claim`, and ``EVIDENCE``, a dict of name -> collector.
A collector is a function of (encoder, resources) that gives one dict of quantities an input; it leaves out what is
undefined for that input, and raises `CannotDecide` where it does not apply to the model. ``@evidence(name, version=...)`` above it
(`bertlook_teach.claims.evidence.evidence`) keeps what it finds on disk; raise the version when a number may come out otherwise."""
