"""The error that a cluster can cause."""


class ClusterError(RuntimeError):
    """Raised if a cluster cannot do the work: one sentence with the problem, its place, and how to fix it.

    Examples
    --------
    >>> issubclass(ClusterError, RuntimeError)
    True
    """
