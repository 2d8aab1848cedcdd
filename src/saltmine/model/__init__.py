"""The fitted model: encoding new rows with it, its patterns as a table, its file."""
