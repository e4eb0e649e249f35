"""The lab: what is measured on this machine."""
