"""Description lengths, evidence and tests: pure functions of counts."""
