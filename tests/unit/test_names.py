"""registry.names: which names are the same name, and which spellings the same repository."""

import pytest

from registry.errors import NameInvalid, RepositoryInvalid
from registry.names import fold_tag, name_key, repository_id, require_name_key


@pytest.mark.parametrize(
    "text",
    [
        "deploy-rollback",
        "Deploy-Rollback",
        "deploy_rollback",
        "deploy rollback",
        "deploy.rollback",
        "  deploy-rollback\n",
        "deploy _. rollback",
        "\uff44\uff45\uff50\uff4c\uff4f\uff59-rollback",
        "deploy\u00a0rollback",
        "deploy\u3000rollback",
        "DEPLOY__ROLLBACK",
    ],
)
def test_spellings_of_one_name_have_one_key(text):
    assert name_key(text) == "deploy-rollback"


@pytest.mark.parametrize(
    "text", ["", " ", "-", "-a", "a-", "a--b", "a/b", "naïve", "a\x00b", "a" * 65, "a\u200bb", "名前"]
)
def test_what_stays_outside_the_pattern_has_no_key(text):
    assert name_key(text) is None


def test_a_key_folds_to_itself():
    assert name_key(name_key("Straße 1") or "") == name_key("Straße 1")


def test_a_name_of_64_characters_has_a_key():
    assert name_key("a" * 64) == "a" * 64


def test_an_invalid_name_is_refused_with_an_example():
    with pytest.raises(NameInvalid, match="for example"):
        require_name_key("not/a/name")


def test_a_tag_outside_the_pattern_is_compared_casefolded():
    assert fold_tag(" Ops/DB ") == "ops/db"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("github.com/acme/app", "github.com/acme/app"),
        ("GitHub.com/Acme/App", "github.com/acme/app"),
        ("github.com/acme/app/", "github.com/acme/app"),
        ("github.com/acme/app.git", "github.com/acme/app"),
        ("github.com/acme/app.git/", "github.com/acme/app"),
        ("https://github.com/acme/app", "github.com/acme/app"),
        ("https://user@github.com/acme/app.git", "github.com/acme/app"),
        ("https://user:secret@github.com/acme/app.git", "github.com/acme/app"),
        ("https://github.com:443/acme/app", "github.com/acme/app"),
        ("http://github.com:80/acme/app", "github.com/acme/app"),
        ("https://github.com:8443/acme/app", "github.com:8443/acme/app"),
        ("github.com:8443/acme/app", "github.com:8443/acme/app"),
        ("github.com:443/acme/app", "github.com/acme/app"),
        ("ssh://git@github.com/acme/app.git", "github.com/acme/app"),
        ("ssh://git@github.com:22/acme/app.git", "github.com/acme/app"),
        ("ssh://git@git.acme.example:2222/acme/app.git", "git.acme.example:2222/acme/app"),
        ("git@github.com:acme/app.git", "github.com/acme/app"),
        ("git@github.com:/acme/app.git", "github.com/acme/app"),
        ("git://github.com/acme/app", "github.com/acme/app"),
        ("git+ssh://git@github.com/acme/app", "github.com/acme/app"),
        ("https://github.com./acme/app", "github.com/acme/app"),
        ("https://github.com/acme/a%70p", "github.com/acme/app"),
        ("gitlab.com/a/b/c/d", "gitlab.com/a/b/c/d"),
        ("[2001:db8::1]:8443/a/b", "[2001:db8::1]:8443/a/b"),
        ("file:///srv/git/acme/App.git", "local/acme/app"),
        ("file:///srv/git/acme/app/.git", "local/acme/app"),
        ("https://github.com/acme/app/.git", "github.com/acme/app"),
        ("https://github.com/acme/app.git.git", "github.com/acme/app"),
        ("local/acme/app", "local/acme/app"),
        ("ssh://git@ssh.github.com:443/acme/app.git", "github.com/acme/app"),
        ("ssh://git@altssh.gitlab.com:443/acme/app.git", "gitlab.com/acme/app"),
        ("ssh://git@ssh.dev.azure.com/v3/org/project/repo", "dev.azure.com/org/project/repo"),
        ("git@ssh.dev.azure.com:v3/org/project/repo", "dev.azure.com/org/project/repo"),
        ("https://org@dev.azure.com/org/project/_git/repo", "dev.azure.com/org/project/repo"),
        ("https://bitbucket.acme.example/scm/proj/repo.git", "bitbucket.acme.example/proj/repo"),
        ("ssh://git@bitbucket.acme.example:7999/proj/repo.git", "bitbucket.acme.example/proj/repo"),
        ("github.com/acme/mono/-/services/billing", "github.com/acme/mono/-/services/billing"),
        ("https://github.com/acme/mono.git/-/services/billing/", "github.com/acme/mono/-/services/billing"),
    ],
)
def test_a_spelling_normalises_to_its_id(spelling, name):
    assert str(repository_id(spelling)) == name


@pytest.mark.parametrize(
    "spelling",
    [
        "github.com/acme/app",
        "https://GitHub.com:8443/acme/App.git",
        "ssh://git@bitbucket.acme.example:7999/proj/repo.git",
        "https://bitbucket.acme.example/scm/proj/repo.git",
        "file:///srv/git/acme/App.git",
        "github.com/acme/mono/-/services/billing",
        "https://github.com/acme/a%2520b",
        "https://github.com/acme/app.git.git",
        "file:///srv/git/acme/app/.git/",
    ],
)
def test_an_id_normalises_to_itself(spelling):
    name = str(repository_id(spelling))
    assert str(repository_id(name)) == name


def test_a_host_alone_is_refused_with_what_to_give():
    with pytest.raises(RepositoryInvalid, match=r"'github\.com' alone is no repository: give host/owner/name"):
        repository_id("github.com")


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        "app",
        ".git",
        "github.com/.git",
        "github.com",
        "github.com/app",
        "github.com//app",
        "github.com/acme//app",
        "github.com/../app",
        "github.com/acme/..",
        "github.com/acme/.",
        "https://github.com/acme/%2e%2e/app",
        "github.com/acme/a\x00pp",
        "https://github.com/acme/a%00pp",
        "github.com/acme\\app",
        "ftp://github.com/acme/app",
        "ext::sh -c x",
        "https:///acme/app",
        "https://git hub.com/acme/app",
        "-x/acme/app",
        "a" * 600 + "/b/c",
    ],
)
def test_what_is_no_repository_is_refused(spelling):
    with pytest.raises(RepositoryInvalid):
        repository_id(spelling)


def test_a_refusal_never_repeats_a_password():
    with pytest.raises(RepositoryInvalid) as caught:
        repository_id("ftp://user:hunter2@host/a/b")
    assert "hunter2" not in str(caught.value)


def test_a_refused_host_never_repeats_a_password():
    with pytest.raises(RepositoryInvalid) as caught:
        repository_id("https://user:hunter2@ho_st/a/b")
    assert "hunter2" not in str(caught.value)


def test_a_case_sensitive_host_keeps_the_case_of_its_paths():
    name = repository_id("https://Git.Acme.example/Team/App", case_sensitive_hosts=frozenset({"git.acme.example"}))
    assert str(name) == "git.acme.example/Team/App"


def test_a_refused_spelling_never_repeats_a_password():
    with pytest.raises(RepositoryInvalid) as caught:
        repository_id("https://user:hunter2@host/a/b\x01")
    assert "hunter2" not in str(caught.value)
