"""A fitted model as one HTML page that needs nothing else: no network, no other files, no installed software."""

from saltmine.report.page import model_html, render, write_report

__all__ = ["model_html", "render", "write_report"]
