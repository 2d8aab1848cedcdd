"""What tests of pages share."""

import time


def wait_until(page, expression, seconds=30):
    """Wait until an expression is true in the page.

    Playwright's own wait evaluates it inside the page if it is not true at once, which the page forbids.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"{expression} is not true after {seconds} s"
        page.wait_for_timeout(20)
