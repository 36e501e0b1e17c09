"""The structural probe: distances in a tree, spanning trees, a chain that the vectors spell out, no direction."""

from dataclasses import replace

import numpy as np
import pytest
from made import refusals

from bertlook_course.analyses.probing import (
    StructuralProbe,
    TreeSentence,
    chain_edges,
    evaluate_edges,
    fit_structural_probe,
    gold_edges,
    read_hidden_states,
    spanning_edges,
    tree_distances,
)


def random_tree(n, rng):
    """Governors of a random tree whose root may be anywhere."""
    order = rng.permutation(n)
    governors = np.full(n, -1)
    for i in range(1, n):
        governors[order[i]] = order[rng.integers(0, i)]
    return governors


def ones(n):
    return np.ones(n, bool)


def test_distances_in_a_chain_are_those_of_the_positions():
    governors = [1, 2, 3, -1]
    assert (tree_distances(governors) == np.abs(np.subtract.outer(range(4), range(4)))).all()


def test_distances_in_a_tree_are_those_of_scipys_shortest_paths():
    from scipy.sparse.csgraph import shortest_path

    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 11):
        governors = random_tree(n, rng)
        graph = np.zeros((n, n))
        for word, governor in enumerate(governors):
            if governor >= 0:
                graph[word, governor] = 1
        assert (tree_distances(governors) == shortest_path(graph, directed=False)).all()


def test_spanning_trees_are_those_of_scipy():
    from scipy.sparse.csgraph import minimum_spanning_tree

    rng = np.random.default_rng(1)
    for n in (2, 3, 8, 13):
        distances = rng.random((n, n)) + 0.1
        distances = distances + distances.T
        expected = {
            tuple(sorted(map(int, edge))) for edge in np.argwhere(minimum_spanning_tree(distances).toarray())
        }
        assert spanning_edges(distances) == expected
    assert spanning_edges(np.zeros((1, 1))) == spanning_edges(np.zeros((0, 0))) == set()


def test_vectors_that_are_the_positions_give_the_chain():
    n = 6
    # Squared distances count the arcs if word i has the first i coordinates set: a chain of n words.
    vectors = np.tril(np.ones((n, n)), -1).astype(np.float32)
    sentence = TreeSentence(vectors, np.array([1, 2, 3, 4, 5, -1]), ones(n))
    probe = StructuralProbe(np.eye(n, dtype=np.float32), 0.0)
    assert (probe.distances(vectors) == tree_distances(sentence.governors)).all()
    assert probe.edges(sentence) == chain_edges(sentence) == gold_edges(sentence)


def test_one_coordinate_that_is_the_position_gives_the_chain_too():
    sentence = TreeSentence(np.arange(5.0, dtype=np.float32)[:, None], np.array([1, 2, 3, 4, -1]), ones(5))
    assert StructuralProbe(np.ones((1, 1)), 0.0).edges(sentence) == gold_edges(sentence)


def spelt_out(count=40, dim=16, seed=0, scale=1.0):
    """Random trees; a word's vector is its governor's and one new direction, turned in a larger space with noise beside it."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(dim, dim)))[0]
    sentences = []
    for _ in range(count):
        n = int(rng.integers(3, 8))
        governors = random_tree(n, rng)
        placed = np.zeros((n, dim))
        distances = tree_distances(governors)
        root = int(np.flatnonzero(governors < 0)[0])
        for k, word in enumerate(sorted(set(range(n)) - {root}, key=lambda w: distances[root, w])):
            placed[word] = placed[governors[word]]
            placed[word, k] += 1
        placed[:, dim // 2 :] = rng.normal(size=(n, dim - dim // 2)) * 1.5
        sentences.append(TreeSentence((scale * placed @ turn).astype(np.float32), governors, ones(n)))
    return sentences


def test_a_tree_hidden_in_the_vectors_is_found_and_twice_the_same():
    sentences = spelt_out()
    train, test = sentences[::2], sentences[1::2]
    before = evaluate_edges(StructuralProbe(np.eye(16), 0.0).edges, test).uuas
    probe, again = (fit_structural_probe(train, epochs=60, learning_rate=0.02) for _ in range(2))
    score = evaluate_edges(probe.edges, test)
    assert score.uuas > 0.9 > before + 0.2
    assert (probe.projection == again.projection).all()
    large = fit_structural_probe(spelt_out(scale=50.0)[::2], epochs=60, learning_rate=0.02)
    assert evaluate_edges(large.edges, spelt_out(scale=50.0)[1::2]).uuas == pytest.approx(
        score.uuas, abs=0.05
    )


def test_links_have_no_direction():
    """Turning every arc of a chain round changes nothing: this probe cannot tell governor from dependent."""
    forwards = TreeSentence(np.arange(4.0, dtype=np.float32)[:, None], np.array([1, 2, 3, -1]), ones(4))
    backwards = replace(forwards, governors=np.array([-1, 0, 1, 2]))
    assert gold_edges(forwards) == gold_edges(backwards)
    assert (tree_distances(forwards.governors) == tree_distances(backwards.governors)).all()
    scores = [evaluate_edges(chain_edges, [s, s]) for s in (forwards, backwards)]
    assert scores[0] == scores[1] and scores[0].uuas == 1


def test_punctuation_takes_no_part():
    sentence = TreeSentence(
        np.array([[0.0], [5.0], [1.0]], np.float32), np.array([2, 2, -1]), np.array([True, False, True])
    )
    assert gold_edges(sentence) == {(0, 2)} == chain_edges(sentence)
    score = evaluate_edges(StructuralProbe(np.ones((1, 1)), 0.0).edges, [sentence, sentence])
    assert (score.uuas, score.n_links, score.n_sentences) == (1, 2, 2)
    assert "UUAS 1.000" in repr(score)


def test_hidden_states_are_those_of_the_layer_and_the_mean_of_the_pieces(specimen):
    import torch

    from bertlook_course.corpora import load_treebank

    sentences = load_treebank()[:4]
    read = read_hidden_states(specimen, sentences, 2)
    for sentence, found in zip(sentences, read):
        encoded = specimen.tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt")
        kept = []

        def hook(module, inputs, output, kept=kept):
            kept.append(output[0] if isinstance(output, tuple) else output)

        hook = specimen.model.encoder.layer[2].register_forward_hook(hook)
        with torch.inference_mode():
            specimen.model(**encoded)
        hook.remove()
        hidden = kept[0].reshape(-1, kept[0].shape[-1]).numpy()
        for word in range(len(sentence)):
            pieces = [i for i, owner in enumerate(encoded.word_ids()) if owner == word]
            assert found.vectors[word] == pytest.approx(hidden[pieces].mean(0), abs=2e-4)
        assert found.counted.tolist() == [tag != "PUNCT" for tag in sentence.upos]
        assert found.governors.tolist() == list(sentence.governors)


def test_the_interval_of_a_uuas_draws_documents_where_twenty_are_named():
    def sentences(of):
        chain = np.arange(-1, 4)
        return [
            TreeSentence(np.full((5, 2), i // 4 % 2), chain, ones(5), f"{i // of}" if of else None)
            for i in range(80)
        ]

    def predict(s):  # four sentences of a document are right or wrong together
        return gold_edges(s) if s.vectors[0, 0] else set()

    alone, twenty, sixteen = (evaluate_edges(predict, sentences(of)) for of in (0, 4, 5))
    assert twenty.high - twenty.low > 1.6 * (alone.high - alone.low)
    assert sixteen == alone


ONE_WORD = TreeSentence(np.zeros((1, 2), np.float32), np.array([-1]), ones(1))

test_what_is_no_tree_is_refused = refusals(
    (lambda: tree_distances([1, 0, -1]), "run in a circle"),
    (lambda: tree_distances([-1, -1]), r"one root was expected, a governor of -1; got \[-1, -1\]"),
    (lambda: spanning_edges([[0, 1], [2, 0]]), r"the same both ways: .*distances \+ distances\.T"),
    (lambda: spanning_edges(np.zeros((2, 3))), r"shape \(word, word\); got shape \(2, 3\)"),
    (
        lambda: spanning_edges([[1, 0.2], [0.2, 1]]),
        "look like similarities, not distances: give 1 - similarities",
    ),
    (lambda: fit_structural_probe([]), "two words or more, all from one layer; got 0"),
    (lambda: evaluate_edges(chain_edges, [ONE_WORD] * 2), "two sentences with links; got 0"),
    (
        lambda specimen: read_hidden_states(specimen, [], 6),
        "layer lies between 0 and 5 in specimen; got 6",
    ),
)
