"""The first `bl.Target` of a page leads to the tour of the library."""

from bookext.tour import TOUR, link_first_target

TARGET = '<span class="n">bl</span><span class="o">.</span><span class="n">Target</span>'
FOLD = f'<details class="admonition hide above-input"><pre>{TARGET}</pre></details>'


def test_the_first_in_open_code_is_linked_and_no_other():
    linked = link_first_target(f"{FOLD}<pre>{TARGET} {TARGET}</pre>")
    assert linked.count(TOUR) == 1
    assert linked.startswith(FOLD) and linked.endswith(f"</a> {TARGET}</pre>")


def test_a_page_without_one_stays_as_it_is():
    for html in (FOLD, "<p>bl.Target</p>", TARGET.replace(">bl<", ">other<")):
        assert link_first_target(html) == html
