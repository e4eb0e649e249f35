"""Published figures against the twin.

`study` finds and reads studies, `judge` runs their cases and judges every figure. `published` is the form of published
figures, `expression` says where the twin's are in a report, `moves` those of moves, `classes` what limits a case by it,
`questions` what a case may ask of the planner instead.
"""
