"""Where the state is kept."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, field_serializer

from stream.config.object_address import ObjectAddress
from stream.config.sections.option import OptionSection, experimental, option
from stream.config.values import check_store_endpoint, parse_checkpoint_dir


class CheckpointOptions(OptionSection):
    """The checkpoint, which keeps the state of the job across restarts."""

    dir: Annotated[Path | ObjectAddress, BeforeValidator(parse_checkpoint_dir)] = option(
        Path("lagwarden-checkpoint"),
        "A directory, or `s3a://BUCKET/PATH` (docs/object-store.md), used by one process and for one cluster only.",
    )
    shared: bool = experimental(
        False, "Whether all executors have the directory under the same path (docs/cluster.md)."
    )
    s3_jars: Path | None = experimental(None, "The folder with the jars of Hadoop's S3 client. Required with `s3a://`.")
    s3_endpoint: Annotated[str, AfterValidator(check_store_endpoint)] | None = experimental(
        None, "URL of an object store other than that of AWS.", shown="that of AWS"
    )
    s3_region: str | None = experimental(
        None, "The region of the bucket; else `AWS_REGION`, else `us-east-1`.", pattern=r"^[a-z0-9-]+$"
    )

    @field_serializer("dir")
    def _dir_as_text(self, value: Path | ObjectAddress) -> str:
        return str(value)

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        if isinstance(self.dir, ObjectAddress):
            found = []
            if self.s3_jars is None:
                found.append(("s3_jars", f"is required with {self.dir}: fetch the jars as docs/object-store.md says"))
            if self.shared:
                found.append(("shared", f"has no effect with {self.dir}, which all executors reach; remove it"))
            return found
        found = [
            (name, "has no effect with a directory; remove it, or set checkpoint.dir to s3a://BUCKET/PATH")
            for name in ("s3_jars", "s3_endpoint", "s3_region")
            if getattr(self, name) is not None
        ]
        if self.shared and not self.dir.is_absolute():
            found.append(("dir", "must be an absolute path with checkpoint.shared"))
        return found
