"""Every setting, read from the environment in this file alone (http-api.md, Settings)."""

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from registry.errors import SettingsInvalid
from registry.playbook.roots import Roots

PREFIX = "REGISTRY_"
_CLIENT_VARIABLES = {"REGISTRY_URL", "REGISTRY_TOKEN", "REGISTRY_CACHE_DIR"}
_BETWEEN_GLOBS = re.compile(r",(?![^{}]*\})")
_INJECTED = re.compile(r"REGISTRY_(SERVICE_|PORT)")

CommaList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """The configuration of a serving registry, as its environment gives it."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    data_dir: Path = Field(Path(".registry"), description="Folder of the database, the mirrors and the index.")
    listen: str = Field("127.0.0.1:8080", description="Address and port to listen on.")
    central_url: str | None = Field(None, description="Remote of the central playbook repository. Needed to serve.")
    central_ref: str | None = Field(None, description="Branch of the central repository; default: its remote's HEAD.")
    central_paths: CommaList = Field(
        (), description="Globs of the central repository's playbooks, comma separated; empty: the usual folders."
    )
    central_team: str = Field("platform", description="Team shown as the central repository's owner.")
    policy_path: str = Field("policy.yaml", description="Path of the policy file in the central repository.")
    poll_interval_s: float = Field(60, gt=0, le=86_400, description="Seconds between two checks of one remote.")
    sync_threads: int = Field(8, ge=1, le=64, description="How many sources are read at the same time.")
    allow_file_remotes: bool = Field(False, description="Accept file:// remotes. For trials on one machine.")  # noqa: FBT003 - pydantic's default
    allow_insecure_http: bool = Field(False, description="Accept http:// remotes. For trials on one machine.")  # noqa: FBT003
    allowed_hosts: CommaList = Field((), description="Hosts that remotes may be on, comma separated; empty: any.")
    allow_private_addresses: CommaList = Field(
        (),
        description="CIDRs of private networks that remotes may be in. Checked and kept; no address is refused yet.",
    )
    case_sensitive_hosts: CommaList = Field((), description="Hosts whose repository paths keep their case.")
    anonymous_read: bool | None = Field(
        None, description="Whether reading needs no token. Default: yes on loopback; elsewhere it must be said."
    )
    admin_token: SecretStr | None = Field(None, description="A bootstrap token with every scope.")
    database_url: str | None = Field(None, description="SQLAlchemy URL; default: SQLite in the data folder.")
    redis_url: str | None = Field(
        None, description="Redis for several replicas. Kept for them; one process needs none and uses none."
    )
    cache_bytes: int = Field(
        128 * 1024 * 1024, ge=1024 * 1024, description="Bytes that all caches of a serving process hold together."
    )
    public_url: str | None = Field(
        None, description="URL under which hosts reach this registry, for example https://registry.acme.example."
    )
    trusted_proxies: CommaList = Field(
        (), description="CIDRs of proxies whose X-Forwarded-For is believed, comma separated."
    )
    mcp_allowed_hosts: CommaList = Field(
        (),
        description="Hosts under which MCP is served besides loopback, the listen address and the public URL; *: any.",
    )
    mcp_allowed_origins: CommaList = Field(
        (), description="Origins of web pages that may call MCP, comma separated; *: any."
    )
    mcp_rate_per_s: float = Field(
        50, ge=0, le=1_000_000, description="Requests a second that one caller may make of MCP; 0: no limit."
    )
    oauth_issuer: str | None = Field(
        None, description="Issuer whose JWTs are taken as tokens (OAuth 2.1); default: none."
    )
    oauth_jwks_url: str | None = Field(None, description="https URL of the issuer's keys (JWKS).")
    oauth_audience: str | None = Field(
        None, description="Audience that a JWT must name; default: the public URL with /mcp."
    )
    oauth_team_claim: str = Field("team", description="Claim of a JWT that names its team.")
    oauth_scopes_claim: str = Field("scope", description="Claim of a JWT that lists its scopes.")
    oauth_allow_admin: bool = Field(False, description="Whether a JWT may carry the scope admin.")  # noqa: FBT003
    log_format: Literal["console", "json"] = Field("console", description="How log lines are written.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator(
        "allowed_hosts",
        "case_sensitive_hosts",
        "allow_private_addresses",
        "trusted_proxies",
        "mcp_allowed_hosts",
        "mcp_allowed_origins",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip().lower() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("central_paths", mode="before")
    @classmethod
    def _globs(cls, value: object) -> object:
        """A comma between braces belongs to its glob."""
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in _BETWEEN_GLOBS.split(value) if part.strip())

    @field_validator("central_paths")
    @classmethod
    def _usable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        Roots(value)
        return value

    @field_validator("allow_private_addresses", "trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for cidr in value:
            ipaddress.ip_network(cidr)
        return value

    @field_validator("public_url", "oauth_issuer", "oauth_jwks_url")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        # Reading the port checks it.
        if parts.scheme not in {"https", "http"} or not parts.hostname or parts.port == 0 or parts.username is not None:
            raise ValueError("expected a URL with a host and no user, for example https://registry.acme.example")
        return value

    @field_validator("mcp_allowed_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if origin != "*" and not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                raise ValueError("expected origins, for example https://console.acme.example")
        return value

    @field_validator("listen")
    @classmethod
    def _listen(cls, value: str) -> str:
        host, colon, port = value.rpartition(":")
        if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise ValueError("expected address:port, for example 127.0.0.1:8080")
        return value

    @property
    def listen_host(self) -> str:
        """The address part of `listen`, without an IPv6 address's brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def listen_port(self) -> int:
        """The port part of `listen`."""
        return int(self.listen.rpartition(":")[2])

    @property
    def store_url(self) -> str:
        """The SQLAlchemy URL in use."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'registry.db').absolute()}"

    @property
    def mcp_resource(self) -> str | None:
        """The URL of the one resource that tokens are for (RFC 8707), None without a public URL."""
        return None if self.public_url is None else self.public_url.rstrip("/") + "/mcp"

    @property
    def reads_openly(self) -> bool:
        """Whether a caller without a token may read."""
        return bool(self.anonymous_read) if self.anonymous_read is not None else _is_loopback(self.listen_host)


def load_settings(**overrides: object) -> Settings:
    """The settings of the environment, with `overrides` (from command-line options) in front.

    Raises SettingsInvalid with one line per fault.
    """
    try:
        settings = Settings(**{key: value for key, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsInvalid("\n".join(_fault(item) for item in error.errors())) from None
    _check_oauth(settings)
    if settings.anonymous_read is None and not _is_loopback(settings.listen_host):
        raise SettingsInvalid(
            f"REGISTRY_LISTEN is {settings.listen}, which others can reach: say REGISTRY_ANONYMOUS_READ=true or "
            "=false, so that open reading is a choice."
        )
    return settings


def _check_oauth(settings: Settings) -> None:
    """Raises SettingsInvalid where JWTs are to be taken and it is not said how to check them."""
    if settings.oauth_issuer is None:
        return
    if settings.oauth_jwks_url is None:
        raise SettingsInvalid("REGISTRY_OAUTH_ISSUER is set: say in REGISTRY_OAUTH_JWKS_URL where its keys are.")
    if not settings.oauth_jwks_url.startswith("https://") and not settings.allow_insecure_http:
        raise SettingsInvalid("REGISTRY_OAUTH_JWKS_URL must be https: whoever answers it decides who is believed.")
    if settings.public_url is None:
        raise SettingsInvalid(
            "REGISTRY_OAUTH_ISSUER is set: say in REGISTRY_PUBLIC_URL how hosts reach this registry, which is how they "
            "find the issuer."
        )


def unknown_variables(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """One sentence per REGISTRY_ variable that is no setting, with the nearest name.

    What Kubernetes injects for a service named registry (REGISTRY_SERVICE_*, REGISTRY_PORT*) is passed over.
    """
    names = os.environ if environment is None else environment
    known = {PREFIX + field.upper() for field in Settings.model_fields} | _CLIENT_VARIABLES
    return tuple(
        _unknown(name, known)
        for name in sorted(names)
        if name.startswith(PREFIX) and name not in known and not _INJECTED.match(name)
    )


def _unknown(name: str, known: set[str]) -> str:
    nearest = difflib.get_close_matches(name, sorted(known), 1, 0.6)
    hint = f"did you mean {nearest[0]}?" if nearest else "see docs/settings.md for the settings there are."
    return f"{name} is not a setting: {hint}"


def _fault(item: Mapping[str, object]) -> str:
    location = item.get("loc")
    name = PREFIX + str(location[0]).upper() if isinstance(location, tuple) and location else "the environment"
    message = str(item.get("msg", "is not valid")).removeprefix("Value error, ")
    return f"{name}: {message}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
