"""The built site: links on disk, and pages in a real browser."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import click
import pytest

from saltmine.cli.main import cli
from tests.helpers.browser import wait_until
from tests.helpers.paths import ROOT

BUILT = ROOT / "docs" / "_build" / "html"
PACKAGES = ("sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_gallery", "sphinx_design")
PHONE = 390
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site that ``make docs`` built; or build one, of whose tutorials one is run."""
    if (BUILT / "index.html").exists():
        return BUILT
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the site is not built, and {missing[0]} is not installed (make docs does both)")
    # All processes of this run share what the first of them builds.
    shared = tmp_path_factory.getbasetemp()
    folder = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "site"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            build(folder)
            (folder / "done").touch()
    return folder / "html"


def build(folder):
    """Build the site in a folder."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "-n", "-D"]
    # One of the tutorials makes the picture of the first page.
    command.append("sphinx_gallery_conf.filename_pattern=baskets")
    built = subprocess.run([*command, folder / "docs", folder / "html"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


class Links(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag != "link" or given.get("rel") == "stylesheet":
            self.targets += [given[name] for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def links(site):
    """Return links and anchors of every page."""
    found = {}
    # The theme brings parts of pages that are none by themselves.
    for path in (path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts):
        found[path] = Links()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_internal_link_resolves(site, links):
    broken = []
    for page, of_page in links.items():
        for target in of_page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = links[path].anchors if path in links else set()
            is_there = path.exists() and (
                not parts.fragment or path.suffix != ".html" or unquote(parts.fragment) in anchors
            )
            if not is_there:
                broken.append(f"{page.relative_to(site)}: {target}")
    assert len(links) > 40
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(links):
    class Loaded(HTMLParser):
        def handle_starttag(self, tag, attrs):
            given = dict(attrs)
            source = given.get("src") if tag in ("script", "img", "iframe") else None
            if tag == "link" and given.get("rel") == "stylesheet":
                source = given.get("href")
            assert source is None or not urlsplit(source).netloc, source

    for page in links:
        Loaded().feed(page.read_text(encoding="utf-8"))


def test_the_page_of_the_command_line_has_every_command_and_option(site):
    page = (site / "reference" / "command_line.html").read_text(encoding="utf-8")
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert f'id="saltmine-{name}"' in page
        options = [option for option in command.params if isinstance(option, click.Option)]
        assert [option.opts for option in options if option.opts[-1] not in page] == []


# ---------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(site):
    """Serve the site, because pages of files may not read each other."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def visit(browser, address):
    """Open a page of the site; complaints and requests to anywhere else fail the test."""
    contexts, complaints = [], []

    def open_page(path, width=1280):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda said: said.type in ("error", "warning") and complaints.append(f"{page.url}: {said.text}")
        )
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        page.on(
            "request", lambda asked: asked.url.startswith((address, "data:", "blob:")) or complaints.append(asked.url)
        )
        page.goto(f"{address}/{path}", wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def test_all_pages_open_without_complaints_and_fit_a_phone(visit, site, links):
    page, wide = visit("index.html", width=PHONE), []
    address = page.url.removesuffix("index.html")
    for path in links:
        page.goto(address + path.relative_to(site).as_posix(), wait_until="load")
        # Where there are headings only, there is nothing else to read.
        size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.bd-article p, h1')).fontSize)")
        if page.evaluate("document.documentElement.scrollWidth") > PHONE or size < 14:
            wide.append(path.relative_to(site))
    assert wide == []


def test_the_search_finds_alterations(visit):
    page = visit("search.html?q=alteration")
    wait_until(page, "document.querySelectorAll('#search-results li').length > 3")
    titles = page.locator("#search-results li a").all_inner_texts()
    assert any("alteration" in title.lower() for title in titles)


def test_a_reader_comes_from_the_first_page_to_a_parameter(visit):
    page = visit("index.html")
    page.locator(".sd-card", has_text="Every class").click()
    page.locator(".bd-article a", has_text="Python").first.click()
    page.locator(".bd-article a", has_text="CSalt").first.click()
    assert "alpha" in page.locator(".bd-article").inner_text()
