"""Make baskets.csv: four hundred made-up baskets from two shops, so that the answer is known.

    python examples/make_baskets.py

Both shops sell breakfasts, and in Trier people take coffee and sugar with it; both sell pasta dinners. Beer evenings
are Mainz's only, on Fridays and Saturdays; nappies are Trier's only, and buyers are young.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

ITEMS = """bread butter jam milk coffee sugar pasta tomato basil cheese beer chips salsa nuts nappies wipes formula soap
    apples pears plums rice beans corn tea juice eggs salt flour yeast""".split()
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]


def main() -> None:
    rng = np.random.default_rng(0)
    shop = np.repeat(["Mainz", "Trier"], 200)
    baskets = pd.DataFrame(rng.random((400, 30)) < 0.03, columns=ITEMS)  # a little of everything
    breakfast, pasta, evening, baby = (rng.random((400, 4)) < [0.25, 0.2, 0.3, 0.3]).T
    evening &= shop == "Mainz"
    baby &= shop == "Trier"
    baskets.loc[breakfast, ["bread", "butter", "jam", "milk"]] = True
    baskets.loc[breakfast & (shop == "Trier"), ["coffee", "sugar"]] = True
    baskets.loc[pasta, ["pasta", "tomato", "basil", "cheese"]] = True
    baskets.loc[evening, ["beer", "chips", "salsa", "nuts"]] = True
    baskets.loc[baby, ["nappies", "wipes", "formula", "soap"]] = True
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
