"""Small changes to the source, one at a time, that the tests must notice: `make mutants`."""
