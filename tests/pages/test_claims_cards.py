"""Every number on a flash card: computed, or declared as given with its reason."""

import card_claims  # noqa: F401  (registers what backs the numbers)
import pytest
import yaml
from card_numbers import CLAIMS, GIVEN, given, near, numbers, trouble_with, wrong
from prose import CHAPTERS

DECK = {card["id"]: card for card in yaml.safe_load((CHAPTERS / "cards.yml").read_text("utf-8"))}


@pytest.mark.parametrize("name", DECK)
def test_every_number_of_a_card_is_backed(name):
    assert trouble_with(DECK[name]) == []


def test_every_claim_has_its_card():
    assert CLAIMS.keys() | GIVEN.keys() <= DECK.keys()
    assert len(CLAIMS) + len(GIVEN) > 50 and not CLAIMS.keys() & GIVEN.keys()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("mcmc-acceptance", "0.234", "0.243"),
        ("rejection-dimension", r"1/20\,959", r"1/20\,958"),
        ("minds-worth", r"\frac1{39}", r"\frac1{38}"),
        ("minds-worth", "two thirds", "two quarters"),
        ("sghmc-sgld", "V/4", "V/3"),
        ("diagnostics-autoregression", "one nineteenth", "one twentieth"),
        ("rejection-light-tails", "Heavier.", "Heavier, by 0.3."),
    ],
)
def test_a_wrong_number_is_seen(name, old, new):
    card = {part: text.replace(old, new) for part, text in DECK[name].items()}
    assert card != DECK[name]
    assert trouble_with(card)


def test_a_wrong_truth_is_seen():
    assert wrong("0.234", 0.2346) and wrong("tenth", near(0.12, 0.1)) and wrong("2", [2.0, 2.1])
    assert wrong("95", given(" ")) and wrong(r"\frac12", 0.51) and wrong("d^{5/4}", 1.2)
    assert not wrong("0.234", 0.2344) and not wrong("tenth", near(0.105, 0.06))
    assert not wrong(r"\frac1{39}", 1 / 39) and not wrong(r"1/20\,959", 1 / 20959)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (r"1. one of $x_1^2$ and $0$", set()),
        (r"$1.01^{-1000} \approx 1/20\,959$", {"1.01", r"1/20\,959"}),
        (r"$\frac34 - \frac1{39}$, \tfrac{1}{12}", {r"\frac34", r"\frac1{39}", r"\tfrac{1}{12}"}),
        (r"$1/\sqrt2$ and $e^{-2x}$, two thirds", {"2", "third"}),
        ("95 % of 1,000", {"95", "1,000"}),
    ],
)
def test_numbers_are_found(text, tokens):
    assert numbers(text) == tokens
