"""Meaning of a whole result: the answer of a point or a sweep, and the point of a sweep where groups suffer.

What a single point means, who suffers in it and what limits them, the core has judged (`judgement` of each point). Here
points are put beside each other.

| module | what it has |
|---|---|
| `settings` | what was set in a point, as one says it; how a sweep lies on axes |
| `limits` | what limits a group, in words |
| `breaks` | where along a sweep each group suffers |
| `answer` | the answer of a result |
"""
