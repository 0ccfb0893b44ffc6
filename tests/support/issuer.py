"""An issuer of JWTs: its keys, its tokens, and a server that shows its keys."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://login.acme.example"
AUDIENCE = "https://registry.acme.example/mcp"
_ALGORITHMS: Mapping[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


class Issuer:
    """One key of each algorithm, by the algorithm's name as its id."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "RS256": rsa.generate_private_key(public_exponent=65_537, key_size=2_048),
            "ES256": ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        }

    def jwks(self) -> bytes:
        """Its public keys."""
        keys = [
            {**_ALGORITHMS[name].to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig", "alg": name}
            for name, key in self.keys.items()
        ]
        return json.dumps({"keys": keys}).encode()

    def token(
        self,
        algorithm: str = "RS256",
        *,
        headers: Mapping[str, object] | None = None,
        left_out: str = "",
        at: float | None = None,
        **claims: object,
    ) -> str:
        """A token for this registry that holds for five minutes; `claims` replace and add."""
        now = int(time.time() if at is None else at)
        usual = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ada@acme.example",
            "iat": now,
            "exp": now + 300,
            "scope": "catalog:read playbook:execute",
        }
        said = {name: value for name, value in {**usual, **claims}.items() if name != left_out}
        return jwt.encode(said, self.keys[algorithm], algorithm, headers={"kid": algorithm, **(headers or {})})


@contextmanager
def showing(issuer: Issuer) -> Iterator[str]:
    """The http URL at which the issuer's keys are."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = issuer.jwks()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/keys"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
