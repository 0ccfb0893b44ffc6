"""Names: what makes two playbook names the same, and two spellings of a remote the same repository.

The rules are merge.md (Names) and http-api.md (Naming a repository).
"""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote

from registry.errors import NameInvalid, RepositoryInvalid

NAME_PATTERN = r"[a-z0-9]+(-[a-z0-9]+)*"
NAME_LENGTH_MAX = 64
REPOSITORY_LENGTH_MAX = 512
SUB_PATH_MARK = "/-/"

_NAME = re.compile(NAME_PATTERN)
_SEPARATORS = re.compile(r"[_\s.]+")
_DEFAULT_PORTS = {"http": "80", "https": "443", "ssh": "22", "git": "9418", "git+ssh": "22", "ssh+git": "22"}
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?")
_SCP = re.compile(r"(?:(?P<user>[^@/:\s]+)@)(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:\s]+):(?P<path>(?!//).+)")
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\.?|\[[0-9a-f:.]+\]")
_USER_INFO = re.compile(r"(//)[^/]*@", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def name_key(text: str) -> str | None:
    """The key of a playbook name, or None where it does not fold into the pattern.

    Strip, NFKC, casefold, runs of `_`, white space and `.` become `-`; 64 characters at most.
    """
    if len(text) > 4 * NAME_LENGTH_MAX:
        return None
    if len(text) <= NAME_LENGTH_MAX and _NAME.fullmatch(text):
        return text
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.strip()).casefold()).strip()
    key = _SEPARATORS.sub("-", folded)
    return key if len(key) <= NAME_LENGTH_MAX and _NAME.fullmatch(key) else None


def require_name_key(text: str) -> str:
    """The key of a playbook name; raises NameInvalid where there is none."""
    key = name_key(text)
    if key is None:
        raise NameInvalid(
            f"{text[:80]!r} is not a playbook name: use lower-case letters, digits and single hyphens, "
            f"{NAME_LENGTH_MAX} characters at most, for example deploy-rollback."
        )
    return key


def fold_tag(text: str) -> str:
    """A tag as it is compared: folded like a name where it can be, else stripped and casefolded."""
    return name_key(text) or unicodedata.normalize("NFKC", text.strip()).casefold()


@dataclass(frozen=True, slots=True)
class RepositoryId:
    """`host/path` of a repository, with the sub-path of a service in a monorepo, if any."""

    host: str
    path: str
    sub_path: str = ""

    def __str__(self) -> str:
        return f"{self.host}/{self.path}" + (f"{SUB_PATH_MARK}{self.sub_path}" if self.sub_path else "")


def repository_id(spelling: str, *, case_sensitive_hosts: frozenset[str] = frozenset()) -> RepositoryId:
    """The id that `spelling` (a URL, an scp-like remote or an id) normalises to.

    Scheme, user, the scheme's default port, a trailing `.git` and slashes drop; another port stays; the host
    is lower-cased and the path case-folded, except on `case_sensitive_hosts`. Raises RepositoryInvalid.
    """
    text = spelling.strip()
    if not text or len(text) > REPOSITORY_LENGTH_MAX or _CONTROL.search(text):
        raise RepositoryInvalid(f"{_shown(spelling)!r} is not a repository: give host/path or the URL of its remote.")
    text, _, sub_path = text.partition(SUB_PATH_MARK)
    scheme, authority, path = _split(text)
    if _CONTROL.search(authority + path):
        raise RepositoryInvalid("a repository's name has no control characters, encoded or not.")
    if scheme == "file":
        parts = _segments(path)[-2:]
        return _checked("local", parts, sub_path, fold=True)
    host, port = _host_and_port(authority)
    segments = _segments(path)
    host, port, segments = _known_double_spelling(scheme, host, port, segments)
    if port and port != _DEFAULT_PORTS.get(scheme, "443" if not scheme else None):
        host = f"{host}:{port}"
    return _checked(host, segments, sub_path, fold=host not in case_sensitive_hosts)


def _shown(spelling: str) -> str:
    # A user's password in a URL must not come back in a message.
    return _USER_INFO.sub(r"\1", spelling)[:80]


def without_user(url: str) -> str:
    """A remote's URL without what could be a secret in the place of a user; `git` and other SSH users stay."""
    found = _URL.fullmatch(url.strip())
    if found is None or found["scheme"].lower() not in {"http", "https"}:
        return url.strip()
    return f"{found['scheme']}://{found['authority'].rpartition('@')[2]}{found['path'] or ''}"


def _split(text: str) -> tuple[str, str, str]:
    if url := _URL.fullmatch(text):
        scheme = url["scheme"].lower()
        if scheme not in _DEFAULT_PORTS and scheme != "file":
            raise RepositoryInvalid(f"the scheme {scheme!r} is not a git remote's: use https or ssh.")
        return scheme, url["authority"], unquote(url["path"] or "")
    if "://" not in text and (scp := _SCP.fullmatch(text)):
        return "ssh", scp["host"], scp["path"]
    authority, slash, path = text.partition("/")
    return "", authority, slash + path


def _host_and_port(authority: str) -> tuple[str, str]:
    bare = authority.rpartition("@")[2].lower()
    host, colon, port = bare.rpartition(":") if not bare.endswith("]") else (bare, "", "")
    if not colon:
        host, port = bare, ""
    if (port and not port.isascii()) or (port and not port.isdigit()) or not _HOST.fullmatch(host):
        raise RepositoryInvalid(f"{bare[:80]!r} is not a host: expected host/path, for example github.com/acme/app.")
    return host.rstrip("."), port


def _segments(path: str) -> list[str]:
    segments = path.strip("/").split("/")
    # A folder's own `.git` is the same repository, and what is left must be an id that normalises to itself.
    while segments[-1].lower().endswith(".git") and (len(segments) > 1 or segments[-1].lower() != ".git"):
        segments[-1] = segments[-1][:-4]
        if not segments[-1]:
            segments.pop()
    return segments


def _checked(host: str, segments: list[str], sub_path: str, *, fold: bool) -> RepositoryId:
    below = sub_path.strip("/").split("/") if sub_path.strip("/") else []
    if segments == [""]:
        raise RepositoryInvalid(f"{host[:80]!r} alone is no repository: give host/owner/name or the URL of its remote.")
    for segment in (*segments, *below):
        if segment in {"", ".", "..", "-"} or "\\" in segment:
            raise RepositoryInvalid(
                f"{'/'.join(segments)[:80]!r} is not a repository's path: a segment is empty, '.', '..' or '-'."
            )
    if len(segments) < 2 and host != "local":
        raise RepositoryInvalid(f"{host}/{'/'.join(segments)} is too short: a repository is host/owner/name.")
    path = "/".join(segments)
    return RepositoryId(host, path.casefold() if fold else path, "/".join(below))


def _known_double_spelling(scheme: str, host: str, port: str, segments: list[str]) -> tuple[str, str, list[str]]:
    """One place for hosts that spell one repository in two ways; the table is in docs/repositories.md."""
    if host in {"ssh.github.com", "altssh.gitlab.com", "altssh.bitbucket.org"} and port in {"443", ""}:
        return (
            {
                "ssh.github.com": "github.com",
                "altssh.gitlab.com": "gitlab.com",
                "altssh.bitbucket.org": "bitbucket.org",
            }[host],
            "",
            segments,
        )
    if host == "ssh.dev.azure.com" and segments[:1] == ["v3"]:
        return "dev.azure.com", "", segments[1:]
    if host == "dev.azure.com" and len(segments) >= 4 and segments[-2].lower() == "_git":
        return host, port, [*segments[:-2], segments[-1]]
    if len(segments) >= 3 and segments[0].lower() == "scm":
        return host, port, segments[1:]
    if scheme == "ssh" and port == "7999":
        return host, "", segments
    return host, port, segments
