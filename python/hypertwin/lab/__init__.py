"""The lab: measure this machine, predict what contention does to it, and measure that too."""
