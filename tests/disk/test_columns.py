"""Rows of numbers on disk: what an array of them would say, in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bertlook_course.metrics import fair_choice
from bertlook_course.storage import OnDisk, columns


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """25 rows of shape (3, 2), added in three pieces and read four at a time."""
    values = np.random.default_rng(1).integers(0, 9, (25, 3, 2)).astype(float)
    monkeypatch.setattr(columns, "_PART", 4 * values[0].nbytes)
    table = OnDisk(tmp_path)
    for piece in (values[:1], values[1:20], values[20:]):
        table.add(piece)
    return table, values


def test_it_says_what_an_array_says(rows):
    table, values = rows
    chosen = np.arange(25) % 3 == 0
    assert len(table) == 25 and table.shape == values.shape
    assert np.array_equal(table.sum(), values.sum(axis=0))
    assert np.array_equal(table.sum(chosen), values[chosen].sum(axis=0))
    assert np.array_equal(table.of((2, 1)), values[:, 2, 1])
    assert np.array_equal(np.concatenate([part for _, part in table.parts()]), values)
    assert np.array_equal(table.rows(np.array([24, 0, 7, 7])), values[[24, 0, 7, 7]])
    table.add(values[:2])  # after it was read
    assert np.array_equal(table.rows([26, 3]), values[[1, 3]])
    assert np.array_equal(table.sum(), values.sum(axis=0) + values[:2].sum(axis=0))


def test_a_head_is_chosen_from_it_as_from_an_array(rows):
    table, values = rows
    for both_ways in (True, False):
        one, other = (fair_choice(given, both_ways=both_ways, least=1) for given in (table, values))
        assert one.chosen == other.chosen and np.array_equal(one.reported, other.reported)


def test_rows_of_another_kind_are_refused_and_none_sum_to_nothing(tmp_path):
    table = OnDisk(tmp_path)
    assert len(table) == 0 and table.sum() == 0
    table.add(np.zeros((2, 3)))
    for other in (np.zeros((2, 4)), np.zeros((2, 3), dtype=np.float32)):
        with pytest.raises(ValueError, match=r"rows of shape \(3,\) and type float64 were expected"):
            table.add(other)


def test_it_takes_no_memory_by_the_row_and_leaves_no_file(tmp_path):
    def most(n):
        table = OnDisk(tmp_path)
        tracemalloc.start()
        for _ in range(n):
            table.add(np.ones((100, 72)))
        table.sum()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert most(160) < 1.2 * most(40)  # of 9.2 and 2.3 MB
    assert not list(tmp_path.iterdir())
