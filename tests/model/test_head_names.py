import pytest

from bertlook_teach import head_label, parse_head_label


def test_tensor_index_7_9_is_the_papers_head_8_10():
    assert head_label(7, 9) == "8-10"
    assert parse_head_label("8-10") == (7, 9)


@pytest.mark.parametrize("layer, head", [(0, 0), (11, 11), (23, 15)])
def test_there_and_back(layer, head):
    assert parse_head_label(head_label(layer, head)) == (layer, head)


@pytest.mark.parametrize("label", ["0-3", "3-0", "3", "3-", "-3", "a-b", "3-4-5", ""])
def test_what_is_no_head_name_is_refused_with_an_example(label):
    with pytest.raises(ValueError, match="for example '8-10'"):
        parse_head_label(label)


def test_negative_indices_are_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        head_label(-1, 0)
