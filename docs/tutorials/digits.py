"""
4. Handwritten digits
=====================

A three and an eight look alike.
Which strokes do they share, and which strokes make an eight?
Rows are images here, and every pixel is an item.
"""

# %%
# Images as yes/no data
# ---------------------
# scikit-learn ships 1,797 small images with 16 shades of grey.
# ``binarize=7`` says that pixels above 7 are ink.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits

from saltmine import CSalt

digits = load_digits()
chosen = np.isin(digits.target, [3, 8])
X, y = digits.data[chosen], digits.target[chosen]

fig, axes = plt.subplots(2, 8, figsize=(8, 2.2), layout="constrained")
for digit, line in zip([3, 8], axes, strict=True):
    for image, ax in zip(X[y == digit], line, strict=False):
        ax.imshow(image.reshape(8, 8) > 7, cmap="Greys")
        ax.set_axis_off()

# %%
# Find the strokes
# ----------------

pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
model = CSalt(binarize=7, random_state=0).fit(X, y, item_names=pixels)
print(model.summary().headline)

# %%
# Pattern 0 is the *typical row*: pixels that most digits of both kinds have.
# It is not a discovery by itself, but what a digit adds to it is.

# %%
# Draw them
# ---------
# ``patterns()`` has a row for every pixel of a pattern: ``role`` says whether it is common or belongs to a digit.
# Pink pixels are common, blue ones belong to threes, and green ones to eights.

colours = ListedColormap(["#f4f2ee", "#d6589f", "#1f6fb4", "#3a923a"])
numbers = {"common": 1, "3": 2, "8": 3}
table = model.patterns()

# sphinx_gallery_thumbnail_number = 2
fig, axes = plt.subplots(2, 4, figsize=(8, 4.6), layout="constrained")
for pattern, ax in zip(range(model.n_components_), axes.flat, strict=False):
    picture = np.zeros(64)
    for item, role in table.loc[table.pattern == pattern, ["item", "role"]].to_numpy():
        picture[pixels.index(item)] = numbers[role]
    ax.imshow(picture.reshape(8, 8), cmap=colours, vmin=0, vmax=3)
    threes, eights = model.usage_counts_[:, pattern]
    ax.set_title(f"pattern {pattern}\n3: {threes}x  8: {eights}x", fontsize=8)
for ax in axes.flat:
    ax.set_axis_off()

# %%
# A pattern may be pink although only one digit uses it.
# The other digit then has these pixels as well, but as part of its alterations or of other patterns.
#
# The strokes that a digit adds
# -----------------------------
# These are the alterations: pixels that one digit adds to a pattern that both have.

added = table[table.kind == "added"].groupby(["pattern", "role"])["item"].agg(list)
for (pattern, digit), items in added.items():
    print(f"Digit {digit} adds to pattern {pattern}: {', '.join(items)}")

# %%
# Are these strokes enough to tell the digits apart?
# We fit the model to half of the images, and predict the others.

half = np.random.default_rng(0).random(len(y)) < 0.5
again = CSalt(binarize=7, random_state=0).fit(X[half], y[half])
print(
    f"{again.score(X[~half], y[~half]):.0%} of {np.count_nonzero(~half)} new images are recognised."
)

# %%
# The answer
# ----------
# Threes and eights share the upper arch, the middle and the strokes on the right: the pink pixels of pattern 0.
# Eights add the green pixels, which close the two loops on the left.
# Threes add the blue ones: the tips of the arches on the left, and the bend on the right.
