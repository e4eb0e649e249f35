"""Planning: what to change, found by searching over what the core predicts."""
