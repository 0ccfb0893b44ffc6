"""Pkt-lines and the `ls-refs` command of git's protocol version 2, as bytes and values (gitprotocol-v2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FLUSH = b"0000"
DELIMITER = b"0001"
_COMMIT_LENGTHS = {40, 64}


class PktLineInvalid(ValueError):
    """Bytes that are not a complete answer in pkt-lines, or an `ERR` line; the message is what was found."""


@dataclass(frozen=True, slots=True)
class Ref:
    """One ref of a remote: its object, what an annotated tag peels to, and where a symbolic ref points."""

    name: str
    object_id: str
    peeled: str | None = None
    target: str | None = None

    @property
    def commit(self) -> str:
        """The id to fetch: the peeled one of an annotated tag."""
        return self.peeled or self.object_id


def line(text: str) -> bytes:
    """One pkt-line of `text` and a line feed."""
    data = text.encode() + b"\n"
    return b"%04x%s" % (len(data) + 4, data)


def ls_refs_request(prefixes: Sequence[str]) -> bytes:
    """The body that asks for the refs that begin with any of `prefixes`, with symbolic targets and peeled tags.

    `unborn` is left out: a server that did not advertise it may refuse the whole request.
    """
    arguments = [line("peel"), line("symrefs"), *(line(f"ref-prefix {prefix}") for prefix in prefixes)]
    return line("command=ls-refs") + line("agent=playbook-registry") + DELIMITER + b"".join(arguments) + FLUSH


def read_refs(answer: bytes, *, complete: bool = True) -> tuple[Ref, ...]:
    """The refs of an `ls-refs` answer, in its order.

    `complete=False` reads what is whole in an answer that was cut off. Raises PktLineInvalid for anything that is not
    well-formed to its flush: an odd answer never reads as "no refs".
    """
    return tuple(_ref(data) for data in _lines(answer, complete=complete))


def _lines(answer: bytes, *, complete: bool) -> Iterator[bytes]:
    at = 0
    while True:
        head = answer[at : at + 4]
        try:
            length = int(head, 16) if len(head) == 4 and head.isalnum() else -1
        except ValueError:
            length = -1
        if length == 0:
            if answer[at + 4 :].strip():
                raise PktLineInvalid("something follows the end of the list of refs.")
            return
        if not complete and (length == -1 or at + length > len(answer)):
            return
        if length <= 4 or at + length > len(answer):
            raise PktLineInvalid(f"the list of refs is not in git's line format: {answer[at : at + 40]!r}.")
        data = answer[at + 4 : at + length].removesuffix(b"\n")
        if data.startswith(b"ERR "):
            raise PktLineInvalid(data[4:304].decode("utf-8", "replace"))
        yield data
        at += length


def _ref(data: bytes) -> Ref:
    # A name that is not UTF-8 stays distinct from every name that is.
    words = data.decode("utf-8", "surrogateescape").split(" ")
    if len(words) < 2 or not is_object_id(words[0]):
        raise PktLineInvalid(f"a ref is not written as git writes it: {data[:80]!r}.")
    attributes = dict(word.partition(":")[::2] for word in words[2:])
    peeled = attributes.get("peeled")
    if peeled is not None and not is_object_id(peeled):
        raise PktLineInvalid(f"a peeled object is not an id: {data[:80]!r}.")
    return Ref(words[1], words[0], peeled, attributes.get("symref-target"))


def is_object_id(text: str) -> bool:
    """Whether `text` is the full hexadecimal name of an object."""
    return len(text) in _COMMIT_LENGTHS and all(character in "0123456789abcdef" for character in text)
