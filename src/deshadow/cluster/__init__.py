"""Removal of shadows by Ray Data: millions of photos, on a machine or a cluster, in any storage."""

from deshadow.cluster.dataset import remove_shadows
from deshadow.cluster.run import run_batch
from deshadow.cluster.settings import Job, Networks, Resources

__all__ = ["Job", "Networks", "Resources", "remove_shadows", "run_batch"]
