"""A real browser for the tests of the page; they are skipped where there is none."""

import shutil

import pytest

from saltmine.report import write_report
from tests.helpers.browser import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


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
