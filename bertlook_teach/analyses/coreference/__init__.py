"""Do heads find antecedents?"""

from ... import hand_on

_HOMES = {
    "antecedents": """
        AntecedentGain AntecedentLinks Antecedents BASELINES CANDIDATES antecedent_gains
        antecedent_links antecedent_table find_antecedents four_sieves named_words
    """,
    "pronouns": "PRONOUN_BASELINES PronounScore ask_heads both_right pronoun_table",
    "reports": "document_chunk pronoun_chunk report",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
