"""What somebody who gave no remote most likely meant, and what to type instead."""

from pathlib import Path

from registry.errors import RepositoryInvalid
from registry.names import repository_id

EXAMPLE = "https://github.com/acme/payments.git"


def instead_of(text: str) -> str | None:
    """What to give instead of a text that cannot be a git remote, or None where it may be one.

    A folder is answered with the remote that it was cloned from, an id with the URL that it most likely has.
    """
    if "://" in text or "@" in text or "::" in text:
        return None
    folder = Path(text).expanduser()
    if folder.is_dir():
        return _instead_of_folder(folder)
    try:
        identity = str(repository_id(text))
    except RepositoryInvalid:
        identity = ""
    if identity and "." in identity.partition("/")[0]:
        return f"it is an id: give the URL that git clones, for example https://{identity}"
    return f"it is no remote: give the URL that git clones, for example {EXAMPLE}"


def _instead_of_folder(folder: Path) -> str:
    from registry.git.checkout import detect_remote  # noqa: PLC0415 - takes a second, which a good remote does not cost

    url = detect_remote(folder)
    if url and instead_of(url) is None:
        return f"it is a folder: the registry reads remotes. Its own is {url}"
    return (
        f"it is a folder: the registry reads remotes, for example {EXAMPLE}. For a trial on one machine give "
        f"{folder.resolve().as_uri()} to a registry that runs with REGISTRY_ALLOW_FILE_REMOTES=true"
    )
