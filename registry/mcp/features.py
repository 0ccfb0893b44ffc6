"""What else the endpoint can offer beside its tools: methods and extensions that plug into the server.

A feature knows nothing of the SDK. It gives plain results of the wire for plain parameters; the server checks both
against the protocol's version where the method is the protocol's own.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.access import Principal
from registry.api.threads import Pools
from registry.service.services import Services

Json = Any
CALLER_KEY = "registry.caller"
RATED_KEY = "registry.rated"
"""Where a request's scope has its Caller, and the name that its caller is counted by: a principal's, or an address."""
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class ProtocolError(Exception):
    """A request that the protocol answers with an error instead of a result, for example an unknown resource."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and whose catalog is asked: `repository` in the caller's spelling, None for central's own.

    `note` is what an answer should say about how the repository was found.
    """

    repository: str | None = None
    principal: Principal | None = None
    note: str = ""


Method = Callable[[Caller, Mapping[str, Json]], Awaitable[dict[str, Json]]]
"""One method: the caller and the request's params in, the result of the wire out. Raises ProtocolError and the
registry's own errors, which become -32602 (refusals) and -32603 (the rest)."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Methods by their names, and what `capabilities.extensions` says of them.

    `resources/list` among the methods makes the server show the `resources` capability.
    """

    methods: Mapping[str, Method]
    extensions: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


MakeFeature = Callable[[Services, Pools], Feature]
"""Makes a feature once the application has its threads."""
