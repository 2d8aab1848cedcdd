"""
1. Baskets of two shops
=======================

A chain has a shop in Mainz and a shop in Trier.
It wants to know what customers of both shops buy together, and what is different in one of the shops.
The data is a table: a row per basket, and a column per product.

The baskets are made up, so that we know what should be found.
The file ``baskets.csv`` is in the folder ``examples`` of the repository.
"""

# %%
# Read the table
# --------------
# ``target`` is the column of the classes, and ``row_names`` the column that names the rows.

import matplotlib.pyplot as plt

import saltmine
from saltmine import CSalt, Prepare

table = saltmine.read("../../examples/baskets.csv", target="shop", row_names="receipt")
table

# %%
# Most columns are 0 or 1.
# Two are not: the weekday and the age of the buyer.

table.X[["weekday", "age", "bread", "butter"]].head()

# %%
# Make yes/no items
# -----------------
# :class:`~saltmine.Prepare` turns every column into items.
# The age is cut at 36 and 60, because the chain uses these age groups.

items = Prepare(thresholds={"age": [36, 60]}).fit_transform(table.X)
print(", ".join(items.columns[:10]))

# %%
# Find the patterns
# -----------------
# There is nothing to tune: the number of patterns follows from the data.
# The summary says what was found, the surest differences first.

model = CSalt(random_state=0).fit(items, table.y, row_names=table.row_names)
print(model.summary())

# %%
# One row per pattern, with the number of baskets of each shop that use it:

model.summary().table[
    [
        "pattern",
        "kind",
        "classes",
        "altered_by",
        "strongest",
        "usage_Mainz",
        "usage_Trier",
    ]
]

# %%
# Look at the alteration
# ----------------------
# Pattern 0 is a breakfast.
# Both shops sell it, but Trier *adds* two items to it.
# ``support`` is a share: of the baskets of a shop that use the pattern, how many have the item?

patterns = model.patterns()
breakfast = patterns[patterns.pattern == 0]
breakfast[["item", "role", "kind", "support_Mainz", "support_Trier", "q_value"]]

# %%
# A picture for the meeting: how many of the breakfast baskets have each item?
# Both shops have the first four items; coffee and sugar are the alteration.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
breakfast.plot.barh(
    x="item",
    y=["support_Mainz", "support_Trier"],
    ax=ax,
    color=["#1f6fb4", "#3a923a"],
    width=0.7,
)
ax.set(
    title="Breakfast: Trier adds coffee and sugar",
    xlabel="share of the baskets with this pattern",
    ylabel="",
)
ax.legend(["Mainz", "Trier"], loc="upper left", bbox_to_anchor=(1, 1))
ax.invert_yaxis()

# %%
# And which basket uses which pattern?
# Rows are baskets, sorted by shop; a mark says that the basket uses the pattern.

ax = model.plot.usage()
ax.figure.set_size_inches(7, 4)

# %%
# The answer
# ----------
# Customers of both shops buy products for breakfast (bread, butter, jam and milk) and for pasta dinners.
# In Trier, they buy coffee and sugar with breakfast; in Mainz they hardly ever do.
# Snacks and beer on Fridays and Saturdays are found only in Mainz, and baby products for buyers under 36 only in Trier.
#
# ``model.report("baskets.html")`` writes all of this as a page that needs no other file.
