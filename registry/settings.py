"""Every setting, read from the environment in this file alone (http-api.md, Settings)."""

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from registry.errors import SettingsInvalid

PREFIX = "REGISTRY_"
_CLIENT_VARIABLES = {"REGISTRY_URL", "REGISTRY_TOKEN"}
_INJECTED = re.compile(r"REGISTRY_(SERVICE_|PORT)")

CommaList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """The configuration of a serving registry, as its environment gives it."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    data_dir: Path = Field(Path(".registry"), description="Folder of the database, the mirrors and the index.")
    listen: str = Field("127.0.0.1:8080", description="Address and port to listen on.")
    central_url: str | None = Field(None, description="Remote of the central playbook repository. Needed to serve.")
    central_ref: str | None = Field(None, description="Branch of the central repository; default: its remote's HEAD.")
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
    log_format: Literal["console", "json"] = Field("console", description="How log lines are written.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator("allowed_hosts", "case_sensitive_hosts", "allow_private_addresses", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip().lower() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("allow_private_addresses")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for cidr in value:
            ipaddress.ip_network(cidr)
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
    if settings.anonymous_read is None and not _is_loopback(settings.listen_host):
        raise SettingsInvalid(
            f"REGISTRY_LISTEN is {settings.listen}, which others can reach: say REGISTRY_ANONYMOUS_READ=true or "
            "=false, so that open reading is a choice."
        )
    return settings


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
