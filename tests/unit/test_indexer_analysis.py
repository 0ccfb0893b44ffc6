"""What the analyser makes of names, prose and scripts."""

import pytest

from indexer.analysis import TERM_LENGTH_MAX, all_terms, fold_name, fold_tag, terms


@pytest.mark.parametrize("spelling", ["deploy-rollback", "deploy_rollback", "Deploy Rollback", "deploy.rollback"])
def test_spellings_of_a_name_have_the_same_terms(spelling):
    assert terms(spelling) == ["deploy", "rollback"]


def test_a_camel_case_identifier_is_split_and_kept_whole():
    assert terms("rotateSigningKey") == ["rotat", "sign", "key", "rotatesigningkey"]


def test_an_acronym_ends_where_the_next_word_begins():
    assert terms("parseHTTPResponse")[:3] == ["pars", "http", "respons"]


def test_a_brand_in_camel_case_meets_its_plain_spelling():
    assert "github" in terms("GitHub")


def test_letters_and_digits_stay_together():
    assert terms("checkout_v2 on s3") == ["checkout", "v2", "s3"]


def test_words_of_one_stem_are_one_term():
    assert terms("deploys deploying deployed deploy") == ["deploy"] * 4


def test_what_an_agent_says_around_its_task_is_left_out():
    assert terms("Hi, I need you to please help me with what I'd want: can't you rotate the key?") == ["rotat", "key"]


def test_a_names_stop_words_are_kept():
    assert all_terms("what-is-this") == ["what", "is", "this"]


def test_a_possessive_is_the_word_itself():
    assert terms("the customer\u2019s invoice") == terms("customer invoice")


def test_scripts_without_spaces_give_bigrams():
    assert terms("署名鍵") == ["署名", "名鍵"]


def test_a_single_ideograph_is_a_term():
    assert terms("鍵") == ["鍵"]


def test_latin_within_a_script_without_spaces_is_a_word_of_its_own():
    assert terms("APIを更新") == ["api", "を更", "更新"]


def test_compatibility_forms_are_one():
    assert terms("\uff44\uff45\uff50\uff4c\uff4f\uff59 \ufb01le") == terms("deploy file")


def test_combining_vowels_do_not_break_a_word():
    assert terms("हिन्दी") == ["हिन्दी"]


def test_a_long_word_is_cut_on_both_sides_alike():
    assert terms("x" * 5_000) == ["x" * TERM_LENGTH_MAX]


@pytest.mark.parametrize("text", ["", " ", "\x00", "🙂", '+-&&||!(){}[]^"~*?:\\/', "'", "_", "\ud800"])
def test_a_text_without_words_has_no_terms(text):
    assert terms(text) == []


@pytest.mark.parametrize(
    "spelling", ["Deploy Rollback", "deploy_rollback!", " DEPLOY--rollback ", "\uff44eploy.rollback"]
)
def test_names_fold_to_one_key(spelling):
    assert fold_name(spelling) == "deploy-rollback"


def test_a_name_without_letters_folds_to_nothing():
    assert fold_name("-- 🙂 --") == ""


def test_a_tag_of_symbols_is_compared_as_it_is():
    assert fold_tag(" 🙂 ") == "🙂"
