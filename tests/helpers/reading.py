"""What tests of readers share."""

import pytest

from saltmine.io import ReadError, read


def refusal(path, **options):
    """Return what is said when something cannot be read: one sentence."""
    with pytest.raises(ReadError) as caught:
        read(path, **options)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def refusal_of_file(path, **options):
    """Return what is said about a file that cannot be read: one sentence that names it."""
    said = refusal(path, **options)
    assert str(path) in said
    return said
