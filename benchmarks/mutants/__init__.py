"""Small changes of the code, one at a time, which the tests should notice."""
