"""Tables that are not yet 0/1 become items."""

from saltmine.preprocessing.transformer import Prepare

# As a step of a pipeline it reads like a verb: make_pipeline(saltmine.prepare(), CSalt()).
prepare = Prepare

__all__ = ["Prepare", "prepare"]
