"""The git child process: everything that talks to a remote with git's own program runs through here.

Its environment is made from scratch, it may speak one protocol, it has a deadline, and nothing of it is left running
afterwards (git.md, The child process).
"""

import contextlib
import os
import re
import resource
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from registry.errors import (
    BranchMissing,
    Corrupt,
    DiskFull,
    HostKeyMismatch,
    RateLimited,
    SourceAddressRefused,
    SourceFault,
    SourceTooLarge,
    Unauthorized,
    Unreachable,
)
from registry.git.remote import redact

GRACE_S = 5.0
STDERR_BYTES_MAX = 16 * 1024
STDOUT_BYTES_MAX = 4 * 1024 * 1024
FILE_BYTES_MAX = 4 * 1024 * 1024 * 1024
MESSAGE_CHARACTERS_MAX = 300
PROTOCOLS = ("https", "http", "ssh", "file")

_CONFIG = {
    "protocol.version": "2",
    "protocol.allow": "never",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "credential.helper": "",
    "core.askPass": "",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "transfer.fsckObjects": "true",
    "transfer.credentialsInUrl": "die",
    # Packs only: a killed fetch then leaves nothing but tmp_pack files, and no loose objects pile up.
    "transfer.unpackLimit": "1",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # Blemishes of old histories that harm nobody who only reads trees and blobs.
    "fetch.fsck.badTimezone": "ignore",
    "fetch.fsck.badDate": "ignore",
    "fetch.fsck.badDateOverflow": "ignore",
    "fetch.fsck.badEmail": "ignore",
    "fetch.fsck.missingEmail": "ignore",
    "fetch.fsck.missingNameBeforeEmail": "ignore",
    "fetch.fsck.missingSpaceBeforeDate": "ignore",
    "fetch.fsck.missingSpaceBeforeEmail": "ignore",
    "fetch.fsck.zeroPaddedDate": "ignore",
    "fetch.fsck.zeroPaddedFilemode": "ignore",
    "fetch.fsck.missingTaggerEntry": "ignore",
}

_HOST_KEY = r"host key verification failed|remote host identification has changed|no .{0,40} host key is known"
_FULL = r"no space left on device|disk quota exceeded"
_LARGE = rf"died of signal {int(signal.SIGXFSZ)}|file too large|file size limit"
_ADDRESS = r"transport '[^']*' not allowed|uses plaintext credentials"
_NO_REF = r"couldn't find remote ref|remote branch .{0,300} not found"
_PACED = r"returned error: 429"
_CREDENTIALS = (
    r"returned error: 40[134]|authentication failed|could not read (username|password)|terminal prompts disabled"
    r"|permission denied \(|access denied|repository ('[^']*' )?not found|dubious ownership"
)
_CORRUPT = (
    r"^(error|fatal): .*(fsck error|bad object|bad tree|unable to read|inflate|corrupt|cannot be accessed"
    r"|sha1 mismatch|hash mismatch|not a valid object|unable to parse|missing (blob|tree|commit)|bad revision)"
    r"|object file .{0,300} is empty|does not point to a valid object|index file .{0,300} is too small|bad pack"
)
# The first pattern that is found in what git said decides. Order matters: the particular before the general.
_FAULTS: tuple[tuple[re.Pattern[str], type[SourceFault]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), fault)
    for pattern, fault in (
        (_HOST_KEY, HostKeyMismatch),
        (_FULL, DiskFull),
        (_LARGE, SourceTooLarge),
        (_ADDRESS, SourceAddressRefused),
        (_NO_REF, BranchMissing),
        (_PACED, RateLimited),
        (_CREDENTIALS, Unauthorized),
        (_CORRUPT, Corrupt),
    )
)
_REMOTE_SPEECH = re.compile(r"^remote: (?!.*(not found|denied)).*$", re.IGNORECASE | re.MULTILINE)
_SPOKEN = re.compile(r"^(?:fatal|error|ERROR|remote|ssh)\b.*$", re.MULTILINE)


class DeadlineMissed(Unreachable):
    """The child was ended because its time was over; more time may help."""


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """How git children are run.

    `known_hosts` and `ssh_key` are files for ssh (None: those of the operating-system user). `config` is added to the
    configuration through the environment and is where credentials go, as
    `http.<scheme>://<host>/.extraHeader`: scoped to one host, never on a command line.
    """

    known_hosts: Path | None = None
    ssh_key: Path | None = None
    ca_file: Path | None = None
    file_bytes_max: int = FILE_BYTES_MAX
    config: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ChildSettings(known_hosts={self.known_hosts}, config={[key for key, _ in self.config]})"


def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    deadline_s: float,
    allow: Sequence[str],
    stdin: bytes | None = None,
    settings: ChildSettings | None = None,
    stdout_bytes_max: int = STDOUT_BYTES_MAX,
) -> bytes:
    """What `git <args>` wrote to its standard output.

    `allow` names the protocols it may speak (https, http, ssh, file). Raises the SourceFault that its words amount to:
    DeadlineMissed after `deadline_s`, SourceTooLarge for more than `stdout_bytes_max` of answer or a file over
    `settings.file_bytes_max`, Unreachable for anything not known. Nothing of its process group survives the call.
    """
    settings = settings or ChildSettings()
    child = subprocess.Popen(  # noqa: S603  # no shell; the arguments are this package's own
        ["git", *args],  # noqa: S607  # found on PATH as the operator set it
        cwd=cwd,
        env=environment(allow, settings),
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Leaves SIGXFSZ ignored, so that a file over the limit is a write error that git names, not a silent death.
        restore_signals=False,
    )
    try:
        _limit_files(child.pid, settings.file_bytes_max)
        conversation = _Conversation(child, stdin or b"", stdout_bytes_max)
        finished = conversation.run(time.monotonic() + deadline_s)
    finally:
        code = _end(child)
    if conversation.overflow:
        raise SourceTooLarge(f"git answered with more than {stdout_bytes_max} bytes.")
    if not finished:
        raise DeadlineMissed(f"the remote did not finish within {deadline_s:g} s.")
    if code != 0:
        raise fault_of(conversation.err.decode("utf-8", "replace"), code, cwd)
    return bytes(conversation.out)


def environment(allow: Sequence[str], settings: ChildSettings) -> dict[str, str]:
    """The whole environment of a git child; only PATH comes from outside."""
    config = dict(_CONFIG)
    for protocol in PROTOCOLS:
        config[f"protocol.{protocol}.allow"] = "always" if protocol in allow else "never"
    if settings.ca_file is not None:
        config["http.sslCAInfo"] = str(settings.ca_file)
    pairs = [*config.items(), *settings.config]
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": ":".join(allow),
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_SSH_COMMAND": _ssh_command(settings),
        "GIT_SSH_VARIANT": "ssh",
        "GIT_CONFIG_COUNT": str(len(pairs)),
        **_numbered(pairs),
    }


def fault_of(said: str, code: int, cwd: Path | None = None) -> SourceFault:
    """The fault that a failed child's words amount to; the message is git's own last word, redacted."""
    if code == -signal.SIGXFSZ:
        return SourceTooLarge("the repository's pack is larger than the limit for one file.")
    text = redact(said)
    if cwd is not None:
        text = text.replace(str(cwd), "the mirror")
    heard = _REMOTE_SPEECH.sub("", text)
    spoken = _SPOKEN.findall(heard) or _SPOKEN.findall(text) or [f"git ended with {code} and said nothing."]
    fatal = [line for line in spoken if line.startswith("fatal")]
    message = (fatal or spoken)[0][:MESSAGE_CHARACTERS_MAX]
    for pattern, fault in _FAULTS:
        if found := pattern.search(heard):
            line = heard[heard.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
            return fault(line[:MESSAGE_CHARACTERS_MAX].strip() or message)
    return Unreachable(message)


def _numbered(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    numbered: dict[str, str] = {}
    for number, (key, value) in enumerate(pairs):
        numbered[f"GIT_CONFIG_KEY_{number}"] = key
        numbered[f"GIT_CONFIG_VALUE_{number}"] = value
    return numbered


def _ssh_command(settings: ChildSettings) -> str:
    options = [
        *("BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10", "ServerAliveInterval=10"),
        *("ServerAliveCountMax=2", "ForwardAgent=no", "ClearAllForwardings=yes", "PermitLocalCommand=no"),
    ]
    if settings.known_hosts is not None:
        options += [f"UserKnownHostsFile={settings.known_hosts}", f"GlobalKnownHostsFile={os.devnull}"]
    words = ["ssh", "-F", "none"]
    for option in options:
        words += ["-o", option]
    if settings.ssh_key is not None:
        words += ["-o", "IdentitiesOnly=yes", "-i", str(settings.ssh_key)]
    return shlex.join(words)


def _limit_files(pid: int, file_bytes_max: int) -> None:
    # From outside, because a function between fork and exec can deadlock in a process with threads. git writes its
    # first large file only after the network has answered, so the limit is there in time, and its children inherit it.
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))


def _end(child: "subprocess.Popen[bytes]") -> int:
    """The exit code; when the child is still there, its whole group gets TERM, then KILL after the grace."""
    if not _has_exited(child.pid):
        _signal_group(child.pid, signal.SIGTERM)
        give_up_at = time.monotonic() + GRACE_S
        while not _has_exited(child.pid) and time.monotonic() < give_up_at:
            time.sleep(0.02)
    # The leader is not reaped yet, so the group's number still is its own: whoever is left in it can be ended safely.
    _signal_group(child.pid, signal.SIGKILL)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    return child.wait()


def _has_exited(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


class _Conversation:
    """Both ways of talking with a child at once, within a deadline and bounds."""

    def __init__(self, child: "subprocess.Popen[bytes]", stdin: bytes, stdout_bytes_max: int) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.overflow = False
        self._child = child
        self._unsent = memoryview(stdin)
        self._stdout_bytes_max = stdout_bytes_max

    def run(self, until: float) -> bool:
        """Whether the child closed its outputs and ended before `until` (monotonic)."""
        with selectors.DefaultSelector() as selector:
            for pipe, events in (
                (self._child.stdin, selectors.EVENT_WRITE),
                (self._child.stdout, selectors.EVENT_READ),
                (self._child.stderr, selectors.EVENT_READ),
            ):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, events)
            while selector.get_map() and not self.overflow:
                remaining = until - time.monotonic()
                if remaining <= 0:
                    return False
                for key, _ in selector.select(remaining):
                    if not self._move(key.fileobj):  # type: ignore[arg-type]  # only pipes were registered
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]  # the same
        while not self.overflow and not _has_exited(self._child.pid):
            if time.monotonic() >= until:
                return False
            time.sleep(0.001)
        return True

    def _move(self, pipe: IO[bytes]) -> bool:
        if pipe is self._child.stdin:
            return self._write(pipe)
        chunk = os.read(pipe.fileno(), 65536)
        if pipe is self._child.stdout:
            self.out += chunk
            self.overflow = len(self.out) > self._stdout_bytes_max
        else:
            self.err += chunk
            # The first and the last words are kept: the cause stands in one or the other.
            if len(self.err) > STDERR_BYTES_MAX:
                half = STDERR_BYTES_MAX // 2
                self.err[half:-half] = b""
        return bool(chunk)

    def _write(self, pipe: IO[bytes]) -> bool:
        try:
            sent = os.write(pipe.fileno(), self._unsent[:65536])
        except BrokenPipeError:
            return False
        self._unsent = self._unsent[sent:]
        return len(self._unsent) > 0
