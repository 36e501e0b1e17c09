"""The claims of each lesson, and what they are decided on: two files a lesson, loaded when it is asked for.

``lessonNN.toml`` holds the claims (see `bertlook_course.claims.lesson_files`), ``lessonNN.py`` the ``EVIDENCE`` that they name, a dict of
name -> collector, and what the lesson's deck shows of the same fits. A collector is a function of (encoder, resources) that gives one dict of
quantities an input; it leaves out what is undefined for that input, and raises `CannotDecide` where it does not apply to the model.
``@evidence(name, version=...)`` above it (`bertlook_course.claims.evidence.evidence`) keeps what it finds on disk; raise the version when a
number may come out otherwise."""
