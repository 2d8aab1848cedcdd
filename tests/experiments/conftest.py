import sys
from pathlib import Path

# The experiments are not installed; they are imported from the root of the repository.
sys.path.insert(0, str(Path(__file__).parents[2]))
