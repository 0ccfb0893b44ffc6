"""Which JWTs are believed, and what they come to."""

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from issuer import AUDIENCE, ISSUER, Issuer

from policies.access import Principal, Scope
from registry.errors import Unauthenticated, Unavailable
from registry.oauth.claims import Mapped, principal_of
from registry.oauth.keys import BELIEVED_S, FRESH_S, RETRY_S, Keys
from registry.oauth.metadata import metadata_url, resource_metadata
from registry.oauth.verifier import Expected, JwtVerifier
from registry.settings import Settings

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
AT = NOW.timestamp()
OURS = Issuer()
THEIRS = Issuer()
MAPPED = Mapped("team", "scope")


def verifier(fetch: Callable[[str], bytes] = lambda _: OURS.jwks(), mapped: Mapped = MAPPED) -> JwtVerifier:
    return JwtVerifier(Keys("https://keys", fetch=fetch), Expected(ISSUER, AUDIENCE), mapped, now=lambda: NOW)


def token(algorithm: str = "RS256", **claims: object) -> str:
    return OURS.token(algorithm, at=AT, **claims)  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_allowed_algorithm_tells_the_principal(algorithm: str):
    found, until = verifier().verify(token(algorithm, team="payments"))
    assert found == Principal("oauth:ada@acme.example", "payments", frozenset({"catalog:read", "playbook:execute"}))
    assert until == NOW + timedelta(seconds=360)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "https://other.example"},
        {"aud": ["https://other.example"]},
        {"exp": AT - 61},
        {"nbf": AT + 61},
        {"iat": AT + 61},
        {"exp": "never"},
        {"exp": True},
        {"exp": 1e300},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "x" * 201},
        {"left_out": "sub"},
        {"left_out": "exp"},
        {"left_out": "aud"},
        {"left_out": "iss"},
    ],
)
def test_a_token_that_is_not_for_us_now_is_refused(claims: dict):
    with pytest.raises(Unauthenticated):
        verifier().verify(token(**claims))


@pytest.mark.parametrize("claims", [{"exp": AT - 59}, {"nbf": AT + 59}, {"aud": ["x", AUDIENCE]}, {"left_out": "iat"}])
def test_clocks_may_differ_by_a_minute_and_audiences_may_be_several(claims: dict):
    assert verifier().verify(token(**claims))[0].name == "oauth:ada@acme.example"


def test_a_signature_of_somebody_else_is_refused():
    with pytest.raises(Unauthenticated):
        verifier().verify(THEIRS.token(at=AT))


def test_a_key_that_the_issuer_does_not_have_is_refused():
    with pytest.raises(Unauthenticated, match="a key that its issuer does not have"):
        verifier().verify(token(headers={"kid": "another"}))


def test_no_signature_is_refused():
    claims = jwt.decode(token(), options={"verify_signature": False})
    with pytest.raises(Unauthenticated, match="algorithm"):
        verifier().verify(jwt.encode(claims, None, "none", headers={"kid": "RS256"}))


def test_a_public_key_taken_as_a_secret_is_refused():
    claims = jwt.decode(token(), options={"verify_signature": False})
    signed = _part({"alg": "HS256", "kid": "RS256"}) + "." + _part(claims)
    mac = hmac.new(OURS.jwks(), signed.encode(), "sha256").digest()
    with pytest.raises(Unauthenticated, match="algorithm"):
        verifier().verify(f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


def test_an_algorithm_that_is_not_that_of_the_key_is_refused():
    with pytest.raises(Unauthenticated, match="not that of its key"):
        verifier().verify(token("ES256", headers={"kid": "RS256"}))


@pytest.mark.parametrize("headers", [{"typ": "dpop+jwt"}, {"typ": 1}, {"crit": ["x"]}, {"kid": "k" * 1_000}])
def test_a_jwt_of_another_kind_is_refused(headers: dict):
    with pytest.raises(Unauthenticated):
        verifier().verify(token(headers=headers))


@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt"])
def test_an_access_token_may_say_what_it_is(kind: str):
    assert verifier().verify(token(headers={"typ": kind}))


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    ["eyJ..", "eyJ.a.b", _part({"alg": "RS256"}) + ".." , _part({"alg": ["RS256"]}) + ".e30.x", "eyJ" + "A" * 10_000 + ".e30.x"],
)  # fmt: skip
def test_rubbish_is_refused(text: str):
    with pytest.raises(Unauthenticated):
        verifier().verify(text)


def test_only_what_has_the_shape_of_a_jwt_is_looked_at():
    assert verifier().may_know(token())
    assert not verifier().may_know("pbr_abc.def.ghi")
    assert not verifier().may_know("eyJabc")


# Claims


@pytest.mark.parametrize(
    ("said", "scopes"),
    [
        ("catalog:read policy:write nonsense", {"catalog:read", "policy:write"}),
        (["catalog:read", 1], {"catalog:read"}),
        (None, set()),
        (7, set()),
        ("admin catalog:read", {"catalog:read"}),
    ],
)
def test_scopes_are_those_that_are_known_and_never_admin(said: object, scopes: set[str]):
    found = principal_of({"sub": "ada", "scope": said}, MAPPED)
    assert found is not None
    assert found.scopes == scopes


def test_admin_is_believed_where_a_setting_says_so():
    found = principal_of({"sub": "ada", "roles": ["admin"]}, Mapped("team", "roles", allow_admin=True))
    assert found is not None
    assert found.holds(Scope.POLICY_WRITE)


@pytest.mark.parametrize("team", [None, 1, ["payments"], "", "a b", "x" * 200])
def test_a_team_that_is_no_name_is_none(team: object):
    found = principal_of({"sub": "ada", "team": team}, MAPPED)
    assert found is not None
    assert found.team is None


def test_a_subject_cannot_pose_as_a_token_of_the_registry():
    found = principal_of({"sub": "ci-platform"}, MAPPED)
    assert found is not None
    assert found.name == "oauth:ci-platform"


# Keys


class Clock:
    """A clock that is put forward by hand, and an issuer that can be down; both count."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.fetches = 0
        self.is_down = False
        self.issuer = OURS

    def fetch(self, _url: str) -> bytes:
        self.fetches += 1
        if self.is_down:
            raise ValueError("down")
        return self.issuer.jwks()

    def keys(self) -> Keys:
        return Keys("https://keys", fetch=self.fetch, clock=lambda: self.now_s)


def test_keys_are_fetched_once_while_they_are_fresh():
    clock = Clock()
    keys = clock.keys()
    for _ in range(5):
        assert keys.key("RS256")
    assert clock.fetches == 1


def test_made_up_key_ids_do_not_make_a_load_on_the_issuer():
    clock = Clock()
    keys = clock.keys()
    for number in range(100):
        assert keys.key(f"made-up-{number}") is None
    assert clock.fetches == 1
    clock.now_s = RETRY_S
    assert keys.key("made-up") is None
    assert clock.fetches == 2


def test_a_new_key_is_found_after_a_while():
    clock = Clock()
    keys = clock.keys()
    keys.key("RS256")
    clock.issuer = THEIRS
    clock.now_s = FRESH_S
    found = keys.key("RS256")
    assert found is not None
    assert found.key.public_numbers() == THEIRS.keys["RS256"].public_key().public_numbers()


def test_an_issuer_that_is_down_locks_nobody_out_for_a_day():
    clock = Clock()
    keys = clock.keys()
    keys.key("RS256")
    clock.is_down = True
    clock.now_s = BELIEVED_S
    assert keys.key("RS256") is not None
    clock.now_s = BELIEVED_S + RETRY_S + 1
    with pytest.raises(Unavailable):
        keys.key("RS256")


def test_without_any_keys_nobody_can_be_believed_or_refused():
    clock = Clock()
    clock.is_down = True
    with pytest.raises(Unavailable):
        clock.keys().key("RS256")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"keys": 1}', b'{"keys": []}', b'{"keys": [{"kty": "RSA"}]}', b"["]
)
def test_an_answer_that_is_no_key_set_is_none(body: bytes):
    with pytest.raises(Unavailable):
        Keys("https://keys", fetch=lambda _: body).key("RS256")


def test_a_key_whose_id_is_no_text_is_no_crash():
    loaded = json.loads(OURS.jwks())
    loaded["keys"][0]["kid"] = ["RS256"]
    with pytest.raises(Unavailable):
        Keys("https://keys", fetch=lambda _: json.dumps(loaded).encode()).key("RS256")


def test_a_key_for_encryption_checks_no_signature():
    loaded = json.loads(OURS.jwks())
    for key in loaded["keys"]:
        key["use"] = "enc"
    assert Keys("https://keys", fetch=lambda _: json.dumps(loaded).encode()).key("RS256") is None


def test_the_only_key_needs_no_id():
    loaded = {"keys": [key for key in json.loads(OURS.jwks())["keys"] if key["kid"] == "RS256"]}
    del loaded["keys"][0]["kid"]
    found = verifier(lambda _: json.dumps(loaded).encode())
    claims = jwt.decode(token(), options={"verify_signature": False})
    assert found.verify(jwt.encode(claims, OURS.keys["RS256"], "RS256"))


# Metadata


def test_metadata_is_between_the_host_and_the_path():
    assert metadata_url("https://a.example/mcp") == "https://a.example/.well-known/oauth-protected-resource/mcp"
    assert metadata_url("https://a.example/x/mcp") == "https://a.example/.well-known/oauth-protected-resource/x/mcp"


def test_metadata_offers_what_an_agent_needs_and_no_scope_that_changes_rules():
    found = resource_metadata(AUDIENCE, ISSUER)
    assert found["scopes_supported"] == ["catalog:read", "playbook:execute"]
    assert (found["resource"], found["authorization_servers"]) == (AUDIENCE, [ISSUER])


def test_a_resource_is_the_public_url_with_mcp():
    assert Settings(public_url="https://registry.acme.example/").mcp_resource == AUDIENCE
