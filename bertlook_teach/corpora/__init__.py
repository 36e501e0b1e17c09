"""Texts, treebanks, coreference, tasks: reading and checking them."""

from .. import hand_on

_HOMES = {
    "coreference": """
        CorefDocument KINDS Mention anaphors coreference_documents cut_documents excerpts head_word
        iter_coreference read_coreference
    """,
    "documents": "by_first document_keys document_numbers halves_by_document numbers_of_keys",
    "keyphrases": "KeyphraseDocument SkippedDocument halves iter_keyphrases load_keyphrases read_keyphrases",
    "negation": "CUE_WORDS Negation NegationSentence iter_negation load_negation read_negation",
    "pronouns": "PronounCase load_minimal_pairs read_pronoun_cases",
    "spans": "EdgeSentence EdgeTarget Span TASKS coreference_edges n_questions read_edges treebank_edges",
    "stanford": "to_stanford",
    "tasks": "Example OVERLAP SHIPPED Task load_task read_examples read_glue",
    "texts": "iter_pairs iter_texts load_pairs load_texts open_text read_pairs read_texts",
    "treebank": """
        ON_ERROR SkippedSentence TreebankSentence iter_conllu load_treebank read_conllu
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
