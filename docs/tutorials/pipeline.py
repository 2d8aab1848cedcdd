"""
5. A scikit-learn pipeline
==========================

Patterns can also be the features of a classifier.
Do they help to predict, and can we still understand what the classifier uses?

The table is made up: it has the age of 600 patients, sixteen findings, and whether they came back within a month.
"""

# %%
# The table
# ---------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from saltmine import CSalt, Prepare

rng = np.random.default_rng(0)
n = 600
table = pd.DataFrame(
    rng.random((n, 16)) < 0.15, columns=[f"finding {number}" for number in range(1, 17)]
)
heart, infection, returned = (rng.random((n, 3)) < [0.5, 0.6, 0.5]).T
table.loc[heart, ["finding 1", "finding 2", "finding 3", "finding 4"]] = True
table.loc[heart & returned, ["finding 5", "finding 6"]] = (
    True  # patients who come back also have these findings
)
table.loc[infection & returned, ["finding 8", "finding 9", "finding 10"]] = True
table = table.astype(int)
table["age"] = np.where(heart, rng.integers(55, 90, n), rng.integers(18, 90, n))
y = np.where(returned, "came back", "at home")
table[["age", "finding 1", "finding 2", "finding 5", "finding 8"]].head(3)

# %%
# The pipeline
# ------------
# :class:`~saltmine.Prepare` makes yes/no items, :class:`~saltmine.CSalt` finds patterns in them, and a logistic
# regression weighs the patterns.
# With ``features="alterations"`` there is one more column per alteration, so the classifier sees what a class adds.

train, test, y_train, y_test = train_test_split(table, y, test_size=0.4, random_state=0)
pipeline = make_pipeline(
    Prepare(thresholds={"age": [65]}),
    CSalt(random_state=0, features="alterations"),
    LogisticRegression(),
)
pipeline.fit(train, y_train)
print(
    f"Patterns, then logistic regression: {pipeline.score(test, y_test):.2f} of new rows are right."
)

# %%
# For comparison, a logistic regression on the items themselves:

items = make_pipeline(
    Prepare(thresholds={"age": [65]}), LogisticRegression(max_iter=1000)
).fit(train, y_train)
print(
    f"Items, then logistic regression: {items.score(test, y_test):.2f}; columns: {items[-1].coef_.size}"
)

# %%
# Choose parameters
# -----------------
# Cross-validation and grid search work as usual.
# Here we ask whether the columns of alterations help; they do.

search = GridSearchCV(
    pipeline, {"csalt__features": ["usage", "alterations"]}, cv=3
).fit(train, y_train)
pd.DataFrame(search.cv_results_)[
    ["param_csalt__features", "mean_test_score", "std_test_score"]
].round(2)

# %%
# What does the classifier use?
# -----------------------------
# The columns that ``CSalt`` gives to the classifier have readable names.

names = pipeline[:-1].get_feature_names_out()
weights = pd.Series(pipeline[-1].coef_[0], index=names).sort_values()
fig, ax = plt.subplots(figsize=(8, 0.5 + 0.4 * len(weights)), layout="constrained")
weights.plot.barh(ax=ax, color="#1f6fb4")
ax.set_xlabel(
    f"weight; positive: {pipeline.classes_[1]}, negative: {pipeline.classes_[0]}"
)

# %%
# The answer
# ----------
# Two patterns and one alteration predict these rows a little better than eighteen items, and they are easier to read.
# Patients who come back add findings 5 and 6 to the first pattern, or have the second pattern.
