"""Published figures compared with the twin.

`study` finds and reads studies. `judge` runs their cases and judges every figure. `published` defines the format of
published figures, and `accept` their tolerance. `record` has each figure of the last accepted evidence. `expression`
finds the twin's figures in a report, `moves` those of moves. `classes` determines the limit of a case, and `questions`
the questions of a case to the planner.
"""
