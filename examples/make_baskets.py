"""Make baskets.csv: four hundred made-up baskets from two shops, so that the answer is known.

    python examples/make_baskets.py

Both shops sell breakfasts, and in Trier people take coffee and sugar with it; both sell pasta dinners. Beer evenings
are Mainz's only, on Fridays and Saturdays; nappies are Trier's only, and buyers are young.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

BREAKFAST, ADDED = ["bread", "butter", "jam", "milk"], ["coffee", "sugar"]
DINNER, EVENING = ["pasta", "tomato", "basil", "cheese"], ["beer", "chips", "salsa", "nuts"]
BABY = ["nappies", "wipes", "formula", "soap"]
OTHER = ["apples", "pears", "plums", "rice", "beans", "corn", "tea", "juice", "eggs", "salt", "flour", "yeast"]
ITEMS = [*BREAKFAST, *ADDED, *DINNER, *EVENING, *BABY, *OTHER]
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]


def main() -> None:
    """Write the file beside this one."""
    rng = np.random.default_rng(0)
    shop = np.repeat(["Mainz", "Trier"], 200)
    baskets = pd.DataFrame(rng.random((400, 30)) < 0.03, columns=ITEMS)  # a little of everything
    breakfast, pasta, evening, baby = (rng.random((400, 4)) < [0.25, 0.2, 0.3, 0.3]).T
    evening &= shop == "Mainz"
    baby &= shop == "Trier"
    baskets.loc[breakfast, BREAKFAST] = True
    baskets.loc[breakfast & (shop == "Trier"), ADDED] = True
    baskets.loc[pasta, DINNER] = True
    baskets.loc[evening, EVENING] = True
    baskets.loc[baby, BABY] = True
    weekday = np.where(evening, rng.choice(["Fri", "Sat"], 400), rng.choice(WEEKDAYS, 400))
    age = np.where(baby, rng.integers(22, 36, 400), rng.integers(18, 90, 400))
    table = baskets.astype(int)
    table.insert(0, "age", age)
    table.insert(0, "weekday", weekday)
    table.insert(0, "shop", shop)
    table.insert(0, "receipt", [f"R{number}" for number in rng.permutation(np.arange(1000, 1400))])
    table.to_csv(Path(__file__).with_name("baskets.csv"), index=False)


if __name__ == "__main__":
    main()
