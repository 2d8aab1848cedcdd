"""The data: checked to be 0/1, cut into class blocks, and offered to the solver as two products."""
