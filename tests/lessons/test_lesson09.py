"""Lesson 9 beside its distances: the claims' statistics, the published map, the drawn map, and its views in Python."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from made import attention, renamed, words_of

from bertlook_course.claims.lessons import lesson09 as lesson
from bertlook_course.decks import lesson09 as slides
from bertlook_course.decks.pictures import lesson09 as pictures
from bertlook_course.metrics import average_linkage, leaf_order
from bertlook_course.published import published_map
from bertlook_course.render import (
    SHAPES,
    describe_distance_map,
    distance_map_figure,
    family_figure,
    group_styles,
    map_neighbours,
    render_distance_map,
)
from bertlook_course.widgets import DistanceMap, FamilyExplorer
from bertlook_teach import extract_attention, load_encoder, load_recording
from bertlook_teach.measures import THRESHOLDS, js_distances

SVG = "{http://www.w3.org/2000/svg}"


def by_layer(layers=3, heads=2, near=0.1, far=0.3):
    number = np.repeat(np.arange(layers), heads)
    distances = np.where(number[:, None] == number, near, far)
    np.fill_diagonal(distances, 0)
    return distances


# --- claims --------------------------------------------------------------------------------------------


def test_evidence_is_a_finite_number_for_every_head_of_every_input():
    found = lesson.family_quantities(attention())
    assert set(found) == {"distance", *THRESHOLDS} and found["distance"].shape == (6, 6)
    assert all(found[name].shape == (3, 2) for name in THRESHOLDS)
    assert all(np.isfinite(value).all() for value in found.values())
    plain = lesson.family_quantities(attention(tokens=("we", "can")))  # no [CLS], no [SEP], no comma
    assert all(np.isfinite(value).all() for value in plain.values())


def test_the_published_map_has_a_place_and_a_label_for_every_head():
    figure = published_map()
    assert figure.points.shape == (144, 2) and np.isfinite(figure.points).all()
    assert figure.labels.shape == (12, 12) and (figure.labels != "").all()
    assert figure.labels[7, 9] == "linguistic" and figure.points[7 * 12 + 9] == pytest.approx(
        [439.88, 287.36]
    )
    assert set(np.unique(figure.labels)) <= {label for label, _ in THRESHOLDS.values()} | {
        "linguistic",
        "unlabelled",
    }


# --- the drawn map -------------------------------------------------------------------------------------

POINTS = np.array([[0, 0], [10, 0], [0, 5.0], [10, 5], [5, 2], [9, 4]])
GROUPS = np.array([["next", "[SEP]"], ["next", "unlabelled"], ["<b>", "[SEP]"]], dtype=object)


def shown(**options):
    distances = np.sqrt(((POINTS[:, None] - POINTS[None]) ** 2).sum(-1))
    return render_distance_map(POINTS, distances, GROUPS, (3, 2), **options).svg


def places(svg):
    """(x, y) of each head's mark, by its printed name."""
    found = {}
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None:
            inside = path.get("transform").removeprefix("translate(").partition(")")[0]
            found[title.text.partition(":")[0]] = tuple(float(v) for v in inside.split())
    return found


def test_the_picture_keeps_proportions_and_up_is_up():
    at = places(shown())
    assert set(at) == {"1-1", "1-2", "2-1", "2-2", "3-1", "3-2"}
    right, up = at["1-2"][0] - at["1-1"][0], at["1-1"][1] - at["2-1"][1]
    assert right > 0 and up > 0 and right / up == pytest.approx(2, abs=0.01)


def test_the_chosen_head_and_its_nearest_are_named_in_the_picture_and_the_sentence():
    svg = shown(selected=(1, 1), k=2)
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert texts[:3] == ["2-2", "3-2", "1-2"]
    assert "Head 2-2 (unlabelled). Nearest: 3-2 ([SEP]) 1.414, 1-2 ([SEP]) 5.000 nats a token." in svg
    assert "next 2" in texts and "[SEP] 2" in texts and "&lt;b&gt; 1" in svg and "<b>" not in svg
    assert 'font-size="24"' in svg and shown() == shown()


def test_by_layer_every_disc_carries_its_number():
    svg = shown(by="layer")
    numbers = [
        t.text for t in ElementTree.fromstring(svg).iter(f"{SVG}text") if t.text and t.text.isdecimal()
    ]
    assert sorted(numbers) == ["1", "1", "2", "2", "3", "3"]


def test_neighbours_follow_the_distances_and_not_the_drawing():
    distances = 1.0 - np.eye(6)
    distances[0, 5] = distances[5, 0] = 0.2  # drawn far away
    assert map_neighbours(distances, 0, 2) == [5, 1]
    assert "Nearest: 3-2" in describe_distance_map(distances, GROUPS, (3, 2), (0, 0), k=1)


def test_no_two_groups_share_colour_and_shape():
    names = ["next", "previous", "broad", "[CLS]", "[SEP]", "punct", "linguistic", "unlabelled"]
    styles = group_styles([*names, *(f"group {i}" for i in range(20))])
    assert len(set(styles.values())) == 28 and {form for _, form in styles.values()} <= set(SHAPES)
    known = [styles[name] for name in names]
    assert len({form for _, form in known}) == len({colour for colour, _ in known}) == 8  # never colour alone


def test_one_head_and_heads_in_one_place_have_a_picture():
    one = render_distance_map([[0, 0]], [[0]], [["next"]], (1, 1)).svg
    assert "There is no other head." in one
    heap = render_distance_map(np.zeros((4, 2)), np.zeros((4, 4)), [["next"] * 2] * 2, (2, 2)).svg
    assert "nan" not in heap and len(set(places(heap).values())) == 1


def test_a_map_of_other_heads_is_refused():
    distances = np.zeros((6, 6))
    with pytest.raises(ValueError, match=r"3 x 2 heads needs points of shape \(6, 2\).*got \(5, 2\)"):
        render_distance_map(POINTS[:5], distances, GROUPS, (3, 2))
    with pytest.raises(ValueError, match=r"between 6 heads have shape \(6, 6\); got \(5, 5\)"):
        render_distance_map(POINTS, distances[:5, :5], GROUPS, (3, 2))
    with pytest.raises(ValueError, match="Is this a similarity matrix"):
        render_distance_map(POINTS, np.eye(6), GROUPS, (3, 2))
    with pytest.raises(ValueError, match="one group a head.*6 heads, 4 groups"):
        render_distance_map(POINTS, distances, GROUPS[:2], (3, 2))
    with pytest.raises(ValueError, match="must be finite"):
        render_distance_map(POINTS * np.nan, distances, GROUPS, (3, 2))


def test_figures_show_every_head_and_each_map_in_its_own_scale():
    figure = distance_map_figure({"one": (POINTS, GROUPS), "other": (POINTS * 100, GROUPS)})
    drawn = [sum(len(c.get_offsets()) for c in axes.collections) for axes in figure.axes]
    assert drawn == [6, 6] and [axes.get_title(loc="left") for axes in figure.axes] == ["one", "other"]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {"next", "[SEP]", "unlabelled", "<b>"}
    with pytest.raises(ValueError, match="at least one map"):
        distance_map_figure({})
    with pytest.raises(ValueError, match=r"'one' needs one point for each head, shape \(6, 2\)"):
        distance_map_figure({"one": (POINTS[:3], GROUPS)})


def test_the_heat_map_is_in_the_order_of_the_tree():
    distances = by_layer()
    shuffle = np.array([4, 0, 2, 5, 1, 3])
    distances = distances[np.ix_(shuffle, shuffle)]
    names = [f"h{i}" for i in range(6)]
    figure = family_figure(distances, average_linkage(distances), names, GROUPS)
    drawn = figure.axes[2].images[0].get_array()
    assert (np.diag(drawn, 1)[::2] == 0.1).all() and (np.diag(drawn, 1)[1::2] == 0.3).all()
    assert len(figure.axes[0].lines) == 5  # a joint each
    with pytest.raises(ValueError, match="the tree has 6 heads"):
        family_figure(distances[:5, :5], average_linkage(distances), names, GROUPS)


def test_the_heat_map_says_the_layer_of_each_head_once_for_neighbours():
    distances = by_layer()  # three layers of two heads
    shuffle = np.array([4, 0, 2, 5, 1, 3])
    joins = average_linkage(distances[np.ix_(shuffle, shuffle)])
    heat = family_figure(
        distances[np.ix_(shuffle, shuffle)], joins, "abcdef", GROUPS, layers=shuffle // 2
    ).axes[2]
    assert sorted(label.get_text() for label in heat.get_xticklabels()) == ["1", "2", "3"]
    assert heat.get_xticks().tolist() == [0.5, 2.5, 4.5] and heat.get_xlabel() == "layer of the head"
    said = [int(label.get_text()) - 1 for label in heat.get_xticklabels()]
    assert np.repeat(said, 2).tolist() == (shuffle // 2)[leaf_order(joins)].tolist()
    with pytest.raises(ValueError, match="6 groups and 5 layers"):
        family_figure(distances, joins, "abcdef", GROUPS, layers=[0] * 5)


# --- views ---------------------------------------------------------------------------------------------


def live(**options):
    distances = js_distances(attention())
    return DistanceMap(POINTS, distances, GROUPS, **options)


def test_choosing_a_point_changes_picture_and_sentence():
    view = live(stress=0.25)
    before = view.picture()
    view.layer, view.head = 2, 1
    svg, sentence = view.picture().svg, view.picture().beneath
    assert (
        svg != before.svg
        and sentence.startswith("Head 3-2 ([SEP]).")
        and "Stress of the map: 0.250." in sentence
    )
    assert "3-2" in view._repr_mimebundle_()["text/html"]
    assert repr(view) == "DistanceMap(3 x 2 heads, by behaviour, head 3-2)" and live(by="layer").by == "layer"


def test_a_head_that_is_not_there_or_a_map_without_shape_is_refused():
    import traitlets

    with pytest.raises(traitlets.TraitError, match="layer counts from 0 to 2; got 3"):
        live(layer=3)
    with pytest.raises(ValueError, match="one of behaviour, layer; got 'head'"):
        live(by="head")
    with pytest.raises(ValueError, match=r"groups must have shape \(layer, head\); got \(6,\)"):
        DistanceMap(POINTS, np.zeros((6, 6)), GROUPS.ravel())


def test_map_and_view_share_the_choice():
    explorer = FamilyExplorer(live(layer=1, head=1), attention())
    assert (explorer.head_view.layer, explorer.head_view.head) == (1, 1)
    explorer.distance_map.layer = 2
    assert explorer.head_view.layer == 2
    explorer.head_view.head = 0
    assert explorer.distance_map.head == 0
    assert repr(explorer) == "FamilyExplorer(3 x 2 heads, head 3-1, 7 tokens)"
    assert explorer._repr_mimebundle_()["text/html"].count("<img") == 2
    with pytest.raises(ValueError, match="same layers and heads"):
        FamilyExplorer(live(), attention(layers=2))


# --- the deck ------------------------------------------------------------------------------------------


def test_the_deck_speaks_of_the_models_it_is_given(specimen, monkeypatch):
    monkeypatch.setattr(slides, "N_TEXTS", 24)
    monkeypatch.setattr(slides, "N_BESIDE", 12)
    twin = load_encoder("specimen-random")
    deck = slides.Deck(renamed(specimen), twin, beside=renamed(twin, "models/other"))
    shown = (
        deck.nearest_table(),
        deck.maps_picture(),
        deck.labels_question(),
        deck.labels_table(),
        deck.groups_table(),
        *(
            draw(deck)
            for draw in (
                pictures.own_layer_picture,
                pictures.kinds_picture,
                pictures.groups_picture,
                pictures.shepard_picture,
                pictures.token_picture,
                pictures.same_maps_picture,
            )
        ),
    )
    said = words_of(
        *shown, deck.nearest_answer(), deck.labels_answer(), deck.whole_heads(), deck.answer().sentence
    )
    assert "specimen" not in said and said.count("somebody") >= 8 and said.count("other 12") >= 3
    assert [row[0] for row in deck.nearest_table().rows] == [
        "somebody",
        "its random twin",
        "other",
        "BERT-base, on its map",
    ]
    assert (deck.other_labels == deck.twin_labels).all()  # the same model, though on fewer texts
    drawn = pictures.own_layer_picture(deck).svg
    assert drawn.count("own layer</title>") == sum(
        round(row[1].value * heads) for row, heads in zip(deck.nearest_table().rows, (36, 36, 36, 144))
    )
    alone = slides.Deck(twin, twin, beside=twin)  # a random model is its own twin
    assert alone.other is None and alone.distances is not alone.twin_distances


def test_bars_of_tokens_add_up_to_the_distance(specimen):
    seen = extract_attention(specimen, "We saw the small bird.")
    found = pictures._by_token(seen, 3, 20)
    assert found.shape == (len(seen.tokens),) and found.mean() == pytest.approx(
        js_distances(seen)[3, 20], abs=1e-6
    )


def test_the_rules_name_the_heads_that_they_show():
    labels = published_map().labels
    drawn = pictures.rules_picture(load_recording("bert-base-uncased"))
    shown = re.findall(r">(\d+)-(\d+)</text>", drawn.svg)
    assert len(shown) == 6 and "BERT-base, recorded" in drawn.sentence
    assert [labels[int(layer) - 1, int(head) - 1] for layer, head in shown] == [
        label for label, _ in THRESHOLDS.values()
    ]


def test_what_the_answers_say_of_minilm_stands_on_its_page():
    page = (Path(__file__).parents[2] / "docs" / "results_minilm.md").read_text(encoding="utf-8")
    assert "| 07 | 3 | 3 / 0 / 0 |" in page and "| 09 | 4 | 2 / 2 / 0 |" in page
