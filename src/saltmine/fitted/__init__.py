"""What a fitted model can say: its table, summary, stability and file, and the encoding of new rows."""
