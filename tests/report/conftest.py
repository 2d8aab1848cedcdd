"""Reports opened in a real browser; the tests are skipped where there is none."""

import pytest

from saltmine.report import write_report
from tests.helpers.browser import wait_until


@pytest.fixture
def visit(browser, tmp_path):
    """Open the report of a model; complaints of the page and requests to anywhere else fail the test."""
    contexts, complaints = [], []

    def open_report(model, title=None, width=1280, hash="", max_patterns=None, **options):
        write_report(model, tmp_path / "report.html", title, max_patterns)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or complaints.append(request.url))
        page.goto((tmp_path / "report.html").as_uri() + hash)
        if options.get("java_script_enabled", True):
            wait_until(page, "window.saltmineReady !== undefined")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []
