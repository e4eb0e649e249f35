"""Published figures against the twin.

`study` finds and reads studies, `judge` runs their cases and judges every figure. `published` is the form of published
figures, `accept` how close is close enough, `record` what each was in the last accepted evidence, `expression` says
where the twin's are in a report, `moves` those of moves, `classes` what limits a case by it, `questions` what a case
may ask of the planner instead.
"""
