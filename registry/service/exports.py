"""One playbook in the form that somebody asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from registry.digest import Json, digest_of
from registry.errors import Unknown
from registry.playbook.export.forms import Exported, export
from registry.service.catalogs import Catalogs


@dataclass(frozen=True, slots=True)
class PlaybookExport:
    """What was exported: the copy's version and document, whether it serves, and by which snapshot."""

    exported: Exported
    version: str
    digest: str
    serves: bool
    snapshot: str

    @property
    def etag(self) -> str:
        """The digest of the bytes and the form. A document's own digest would not do: other forms name its source."""
        return f"{digest_of(self.exported.body)}+{self.exported.form}"


def export_playbook(
    catalogs: Catalogs,
    name: str,
    repository: str | None,
    form: str,
    *,
    version: str | None = None,
    digest: str | None = None,
) -> PlaybookExport:
    """The playbook that serves, or exactly the copy that was asked for, in a form of `fields.FORMS`.

    Raises as `Catalogs.playbook` does, and Unknown where the original bytes are not kept.
    """
    entry = catalogs.playbook(name, repository, version=version, digest=digest)
    contract = cast("Mapping[str, Json]", entry["contract"])
    source = cast("Mapping[str, Json]", entry["source"])

    def original() -> bytes:
        try:
            return catalogs.blob(str(source["blob"]))
        except Unknown:
            # Of a copy that was held before originals were kept, and is in no history that is at hand.
            message = f"the original bytes of {name} are not kept: another form does not need them."
            raise Unknown("snapshot", message, digest=source["blob"]) from None

    return PlaybookExport(
        export(form, contract, entry, original),
        version=str(entry["version"]),
        digest=str(entry["digest"]),
        serves=entry["serves"] is True,
        snapshot=str(entry["snapshot"]),
    )
