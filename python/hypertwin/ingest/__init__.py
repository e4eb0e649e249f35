"""Other systems' formats in, one file per source."""
