"""What the interval of a UUAS draws."""

import numpy as np

from bertlook_course.analyses.probing.structural import TreeSentence, evaluate_edges, gold_edges


def test_the_interval_of_a_uuas_draws_documents_where_twenty_are_named():
    def sentences(of):
        chain = np.arange(-1, 4)
        return [
            TreeSentence(np.full((5, 2), i // 4 % 2), chain, np.ones(5, bool), f"{i // of}" if of else None)
            for i in range(80)
        ]

    def predict(s):  # four sentences of a document are right or wrong together
        return gold_edges(s) if s.vectors[0, 0] else set()

    alone, twenty, sixteen = (evaluate_edges(predict, sentences(of)) for of in (0, 4, 5))
    assert twenty.high - twenty.low > 1.6 * (alone.high - alone.low)
    assert sixteen == alone
