"""Results as tables, files and pages. No physics: everything here is a view of a result in its JSON form."""
