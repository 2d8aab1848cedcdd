"""The description length as docs/method/objective.md states it, cell by cell."""

import numpy as np


def plain_f(X, y, components, alterations, usage):
    """f as docs/method/objective.md states it, in loops; y is 0..c-1."""
    D = np.asarray(X, dtype=int)
    m, n = D.shape
    r, c = len(components), len(alterations)
    u = [-np.log(D[:, i].sum() / D.sum()) if D[:, i].any() else np.inf for i in range(n)]
    N = np.zeros((m, n), dtype=int)
    for j in range(m):
        for i in range(n):
            covered = any(usage[j, s] and (components[s, i] or alterations[y[j], s, i]) for s in range(r))
            N[j, i] = D[j, i] - covered
    total = int(usage.sum()) + int(np.abs(N).sum())
    f = 0.0
    for s in range(r):
        count = int(usage[:, s].sum())
        if count:
            f -= (count + 1) * np.log(count / total)
            f += sum(u[i] for i in range(n) if components[s, i])
            f += sum(u[i] for a in range(c) for i in range(n) if alterations[a, s, i])
    for i in range(n):
        count = int(np.abs(N[:, i]).sum())
        if count:
            f += -(count + 1) * np.log(count / total) + u[i]
    for a in range(c):
        for s in range(r):
            for i in range(n):
                for j in range(m):
                    if alterations[a, s, i] and usage[j, s]:
                        f += (1 - D[j, i]) if y[j] == a else D[j, i]
    return f
