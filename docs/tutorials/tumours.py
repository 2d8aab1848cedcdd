"""
2. Mutations of primary and relapsed tumours
============================================

A hundred and twenty patients had a tumour, and in a hundred of them it came back.
Which genes are mutated together, and what is new in a relapse?

Samples of one patient are not independent: most mutations of a relapse were in the primary tumour already.
So the tests have to count patients, not samples.
The data is simulated, so that we know what should be found.
It is written as MAF files, as a sequencing pipeline does.
"""

# %%
# Two mutation files and a sample sheet
# -------------------------------------
# Each line of a MAF file is a mutation in a sample.
# In a third of the patients three genes of one pathway are mutated together; in relapses two more genes join them.
# Every tumour has some other mutations, too.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import saltmine
from saltmine import CSalt

rng = np.random.default_rng(0)
pathway, resistance = ["KRAS", "NF1", "PTPN11"], ["CREBBP", "NT5C2"]
others = [f"GENE{number}" for number in range(1, 81)]

mutations, sheet = [], []
for number in range(120):
    patient = f"P{number:03d}"
    has_pathway = rng.random() < 1 / 3
    found = {gene for gene in pathway if has_pathway and rng.random() < 0.95}
    found |= set(rng.choice(others, rng.poisson(5), replace=False))
    for stage in ["primary", "relapse"][: 2 if number < 100 else 1]:
        if stage == "relapse":
            found |= {
                gene for gene in resistance if has_pathway and rng.random() < 0.85
            }
            found |= set(rng.choice(others, rng.poisson(1), replace=False))
        sample = f"{patient}-{stage[0].upper()}"
        sheet.append((sample, patient, stage))
        mutations += [(gene, sample, stage) for gene in sorted(found)]

folder = Path(tempfile.mkdtemp())
for stage in ["primary", "relapse"]:
    maf = pd.DataFrame(
        [
            (gene, "Missense_Mutation", sample)
            for gene, sample, of in mutations
            if of == stage
        ],
        columns=["Hugo_Symbol", "Variant_Classification", "Tumor_Sample_Barcode"],
    )
    maf.to_csv(folder / f"{stage}.maf", sep="\t", index=False)
pd.DataFrame(sheet, columns=["sample", "patient", "class"]).to_csv(
    folder / "samples.tsv", sep="\t", index=False
)
print("\n".join((folder / "relapse.maf").read_text().splitlines()[:5]))

# %%
# Read the files
# --------------
# There is one file per class.
# The sample sheet says which samples belong to which patient.

files = {"primary": folder / "primary.maf", "relapse": folder / "relapse.maf"}
table = saltmine.read(files, labels=folder / "samples.tsv")
print(table, table.groups[:4], table.group_name)

# %%
# Count patients, not samples
# ---------------------------
# ``groups`` says which samples are of the same patient.
# If a patient has samples of both classes, these samples are compared with each other.

patients = pd.Series(table.groups, name="patient")
model = CSalt(random_state=0).fit(
    table.X,
    table.y,
    groups=patients,
    item_names=table.item_names,
    row_names=table.row_names,
)
print(model.summary())

# %%
# Two samples of a patient share most of their mutations, so a pattern of one or two patients says nothing about others.
# Such a pattern has the kind ``group`` in the table, and is not counted among the patterns.
# Without ``groups``, it would look like a discovery.
#
# The same on the command line is
# ``saltmine fit primary=primary.maf relapse=relapse.maf --labels samples.tsv -o out/``.
#
# How sure is it?
# ---------------
# ``support`` is a share: of the samples of a stage that use the pattern, how many have a mutation of the gene?
# The ``q_value`` comes from the test that counts patients.

table_of_genes = model.patterns().query("kind != 'group'")
table_of_genes[
    ["pattern", "item", "role", "kind", "support_primary", "support_relapse", "q_value"]
]

# %%
# Would other patients show the same?
# We draw a bootstrap sample of the patients, with all of their samples, and fit again.

stability = model.assess_stability(table.X, table.y, refits=5, random_state=0)
print(f"The pattern came back in {stability.patterns[0]:.0%} of the refits,")
print(f"what relapses add to it in {np.nanmax(stability.alterations):.0%}.")

# %%
# A figure for a talk: how frequent is each gene of the pattern in all samples of a stage?

shares = table_of_genes.set_index("item")[["share_primary", "share_relapse"]]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
shares.plot.bar(ax=ax, color=["#1f6fb4", "#3a923a"], rot=0)
ax.set(xlabel="", ylabel="share of all samples")
ax.legend(["primary", "relapse"])

# %%
# The answer
# ----------
# KRAS, NF1 and PTPN11 are mutated together, in primary tumours as well as in relapses.
# Relapses add mutations of CREBBP and NT5C2 to this pattern; primary tumours do not have them.
# None of the other 80 genes is reported.
