"""
3. Words of two forums
======================

What do people write about in a forum on cycling and in a forum on motorcycles?
Some topics are common to both forums, but each forum may add its own words to them.
Documents are rows here, and words are items.

The corpus is small and made by the script: each post consists of words of its topics and of other words.
"""

# %%
# Write the corpus
# ----------------
# Many tools write a file with one JSON object per line, which holds a text and a label.

import json
import random
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import saltmine
from saltmine import CSalt

# Words of each topic, those that only one forum adds, and how many posts of each forum are about it.
topics = {
    "tyres": (
        "tyre puncture valve pump tread",
        {"cycling": "tube patch lever"},
        (0.3, 0.3),
    ),
    "insurance": (
        "insurance theft claim lock police",
        {"motorcycles": "licence premium"},
        (0.25, 0.25),
    ),
    "climbing": ("mountain climb gradient summit cadence", {}, (0.3, 0.0)),
    "engine": ("engine oil piston exhaust carburettor", {}, (0.0, 0.3)),
}
fillers = (
    "yesterday weekend friend shop advice question thanks price colour garage winter summer morning road traffic "
    "helmet jacket gloves video picture forum review order delivery parcel manual photo weather helpful holiday "
    "coffee neighbour brother sister office station bridge river village market bakery museum language letter "
    "kitchen window garden music camera pocket battery ticket island hotel airport novel teacher lesson"
).split()

random.seed(0)
posts = []
for forum, name in enumerate(["cycling", "motorcycles"]):
    for number in range(300):
        words = random.sample(fillers, 8)
        for shared, added, frequency in topics.values():
            if random.random() < frequency[forum]:
                about = shared.split() + added.get(name, "").split()
                words += [word for word in about if random.random() < 0.9]
        random.shuffle(words)
        posts.append(
            {
                "id": f"{name}-{number}",
                "label": name,
                "text": f"About the {', the '.join(words)}.",
            }
        )

path = Path(tempfile.mkdtemp()) / "posts.jsonl"
path.write_text("".join(json.dumps(post) + "\n" for post in posts))
print(posts[0]["text"])

# %%
# Read the documents
# ------------------
# Words are reduced to their base form, and stop words such as *about* and *the* are left out.
# A word has to be in at least 20 documents to become an item; ``min_docs`` changes this number.

table = saltmine.read(path, target="label", text="text")
table

# %%
# Find the patterns
# -----------------

posts = pd.DataFrame(table.X.toarray(), columns=table.item_names)
model = CSalt(random_state=0).fit(posts, table.y, row_names=table.row_names)
print(model.summary())

# %%
# Draw them as word clouds
# ------------------------
# Shared words are pink, words of cycling are blue, and words of motorcycles are green.
# The size of a word says how characteristic it is of the pattern.

fig, axes = plt.subplots(2, 2, figsize=(8, 5.4), layout="constrained")
for pattern, ax in zip(range(model.n_components_), axes.flat, strict=False):
    model.plot.wordcloud(pattern, ax=ax)
    ax.title.set_fontsize(9)

# %%
# Which forum does a new post belong to?
# --------------------------------------
# The predicted class is the one whose patterns give the post the shortest description.

new = [
    "The pump does not help: a puncture, and no patch for the tube.",
    "A piston, and oil in the exhaust.",
]
path.with_name("new.jsonl").write_text(
    "".join(json.dumps({"text": text}) + "\n" for text in new)
)
read = saltmine.read(path.with_name("new.jsonl"), text="text", min_docs=1)
words = pd.DataFrame(read.X.toarray(), columns=read.item_names).reindex(
    columns=table.item_names, fill_value=0
)

for text, label in zip(new, model.predict(words), strict=True):
    print(f"{label}: {text}")

# %%
# The answer
# ----------
# Both forums write about punctures and about theft.
# Cyclists add words about tubes and patches to the first topic, and motorcyclists words about licences to the second.
# Only cyclists write about climbs, and only motorcyclists about engines.
