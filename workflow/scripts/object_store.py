"""Let the checksum of an artifact go with it into an S3 bucket, and come back with it.

snakemake-storage-plugin-s3 moves what rules name as outputs; the checksum of an artifact is a file
beside it. In a bucket it is beside it too, and whatever is fetched is compared with it at once.
"""

import contextlib
from pathlib import Path
from typing import Any

import snakemake_storage_plugin_s3 as plugin

from artifacts import DamagedError, checked, seal_of


class SealedObject(plugin.StorageObject):
    """An object of a bucket, with its checksum beside it."""

    def _seal(self) -> Any:
        return self.provider.s3c.Object(self.bucket, str(seal_of(Path(self.key))))

    def local_suffix(self) -> str:
        """Return the path of the local copy.

        The plugin's own is of the query at first, without the constraints that wildcards get later.
        """
        return self.query.removeprefix("s3://")

    def store_object(self) -> None:
        """Upload the file, and its checksum where it has one: a log has none."""
        super().store_object()
        seal = seal_of(self.local_path())
        if seal.exists():
            self._seal().upload_file(seal)

    def retrieve_object(self) -> None:
        """Download the file and its checksum.

        Raises:
            DamagedError: they do not fit. The object is removed; the next run makes it again.
        """
        super().retrieve_object()
        seal = seal_of(self.local_path())
        # Where the bucket has none, that of an earlier copy is none either.
        seal.unlink(missing_ok=True)
        with contextlib.suppress(self.provider.s3c.meta.client.exceptions.NoSuchKey):
            seal.write_bytes(self._seal().get()["Body"].read())
        try:
            checked(self.local_path())
        except DamagedError as error:
            self.remove()
            raise DamagedError(
                f"{self.query}: damaged, its bytes do not fit the checksum beside it. "
                "It has been removed; run the same command again to make it anew."
            ) from error


def use() -> None:
    """Put it in the place of the plugin's own; providers look it up by its name."""
    plugin.StorageObject = SealedObject
