"""The paper's experiments: `saltmine reproduce` runs them."""
