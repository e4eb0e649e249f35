"""VMware in: esxtop, vCenter and what is exported of it."""
