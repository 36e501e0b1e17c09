import numpy as np
import pytest

from bertlook_course.published import published_heads, published_layers, published_table_1, read_published
from bertlook_course.published.tables import _PER_HEAD
from bertlook_teach.disk import data_path

TABLES = sorted(path.stem for path in data_path("published").glob("*.csv"))


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_source_and_a_known_exactness(table):
    rows = read_published(table)
    assert rows
    for row in rows:
        assert row.source and row.exactness in {"printed", "vector", "approx", "output", "derived", "notes"}


@pytest.mark.parametrize("measure", _PER_HEAD)
def test_the_two_figures_agree_the_layer_value_is_the_mean_of_its_heads(measure):
    assert published_heads(measure).mean(1) == pytest.approx(published_layers(measure), abs=0.02)


def test_the_papers_statements_can_be_read_off_the_data():
    sep = published_layers("sep")
    assert (sep[5:9] > 0.5).all() and sep[9] < 0.5  # "over half in layers 6-10" holds for 6 to 9
    assert np.argwhere(published_heads("cls") > 0.5).tolist() == [[1, 6]]  # head 2-7 alone
    assert (published_heads("entropy_clark") > 3.8).sum() == 11  # "broad" heads


def test_an_unknown_measure_or_table_lists_what_there_is():
    with pytest.raises(KeyError, match="nothing published is computed like 'previous'; there is: cls, sep"):
        published_heads("previous")
    with pytest.raises(FileNotFoundError, match="there are: .*clark_layer_series"):
        read_published("nothing")


def test_table_1_says_which_way_a_head_is_read():
    """Clark et al. (2019), Table 1: only of objects of prepositions is the best head read by the governor's row."""
    table = published_table_1()
    assert (table["det"].head, table["det"].accuracy, table["det"].baseline) == ("8-11", 94.3, 51.7)
    assert {name for name, row in table.items() if row.direction == "g>d"} == {"pobj"}
    assert {row.direction for row in table.values()} == {"d>g", "g>d"}
