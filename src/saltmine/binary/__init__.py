"""Binary models: their exact description length, the definition they obey, and how relaxed factors become one."""
