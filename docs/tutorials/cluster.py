"""
6. A cluster of two workers
===========================

Some data is too large for one machine.
A Dask cluster can hold it in blocks, and the call of ``fit`` is the same.
Is the model the same, too?

The cluster of this tutorial consists of two processes on one machine; a real cluster is used in the same way, by its address.
"""

# %%
# Data that is read lazily
# ------------------------
# Genome data has many more columns than rows: here, 120 samples with 20,000 sites are written as a zarr array.
# A block is read only when it is needed.

import tempfile

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

from saltmine import CSalt

rng = np.random.default_rng(0)
stage = np.repeat(["primary", "relapse"], 60)
sites = rng.random((120, 20_000)) < 0.01
carriers = rng.random(120) < 0.3
sites[np.ix_(carriers, np.arange(50))] = True  # fifty sites that go together
sites[np.ix_(carriers & (stage == "relapse"), np.arange(50, 80))] = (
    True  # thirty more sites in relapses
)

folder = tempfile.mkdtemp()
da.from_array(sites, chunks=(120, 5_000)).to_zarr(f"{folder}/sites.zarr")
sites = da.from_zarr(f"{folder}/sites.zarr")
sites

# %%
# In this process
# ---------------
# Without a cluster, the blocks are searched in this process, one after the other, on all cores.

local = CSalt(random_state=0).fit(sites, stage)
print(local.summary().headline)

# %%
# On two workers
# --------------
# ``Client("tcp://host:8786")`` connects to a cluster that runs already.
# In a script that starts a cluster with ``LocalCluster``, put the code below ``if __name__ == "__main__":``, because the
# workers load the file.

cluster = SubprocessCluster(worker_kwargs={"nthreads": 1})
cluster.scale(2)
client = Client(cluster)
client.wait_for_workers(2)

model = CSalt(random_state=0, client=client).fit(sites, stage)
print(model.summary().headline)

# %%
# Is it the same model?
# ---------------------

assert np.array_equal(local.usage_, model.usage_)
assert (local.sparse_components_ != model.sparse_components_).nnz == 0
print(f"The same model: {np.array_equal(local.usage_, model.usage_)}")
print(model.summary().findings[0].text)

# %%
# For the first hundred sites, the figure shows the share of the samples with the pattern that have the site.
# The first fifty are shared, the next thirty are what relapses add, and the rest is chance.

uses = model.usage_[:, 0]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for name, colour in [("primary", "#1f6fb4"), ("relapse", "#3a923a")]:
    shares = sites[uses & (stage == name), :100].mean(axis=0).compute()
    ax.plot(
        shares,
        color=colour,
        label=name,
        drawstyle="steps-mid",
        linewidth=3 if name == "primary" else 1.2,
    )
ax.set(xlabel="site", ylabel="share of samples")
ax.legend()

# %%
# If a worker is lost, its blocks are computed again elsewhere, and the model stays the same.
# At the end we close the cluster.

client.close()
cluster.close()

# %%
# The answer
# ----------
# A fit on a cluster gives the same model as a fit in one process, bit for bit.
# ``CSalt(client="tcp://host:8786")`` and ``saltmine fit --cluster tcp://host:8786`` are all that it takes.
