"""The project's own treebank: is it valid Universal Dependencies, and are its entities well formed?

Every rule is a function that lists what is wrong. It must find nothing in the treebank, and it must find
the mistake in a copy that was broken on purpose.
"""

import re
import unicodedata
from collections import Counter, defaultdict, namedtuple
from pathlib import Path

import conllu
import pytest

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "data" / "treebank" / "treebank.conllu"
TEXT = PATH.read_text(encoding="utf-8")
README = (ROOT / "data" / "treebank" / "README.md").read_text(encoding="utf-8")

Word = namedtuple("Word", "id form lemma upos xpos feats head deprel deps misc")
Range = namedtuple("Range", "first last form misc")
Sentence = namedtuple("Sentence", "id doc text words ranges")
Mention = namedtuple("Mention", "entity type minspan first last")


def split(names):
    return set(names.split())


UPOS = split("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X")
UNIVERSAL = split(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
    "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp"
)
SUBTYPES = split(
    "acl:relcl advcl:relcl aux:pass cc:preconj compound:prt det:predet nmod:desc nmod:poss nmod:unmarked nsubj:outer "
    "nsubj:pass obl:agent obl:unmarked"
)
XPOS = split(
    "NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ MD JJ JJR JJS RB RBR RBS DT PDT WDT WP WP$ WRB PRP PRP$ POS IN TO CC CD EX UH "
    "RP HYPH $ , . : `` ''"
)
ENTITY_TYPES = split("abstract animal event object organization person place plant substance time")
# Sentences whose words leave a gap on purpose: the preposition stays behind, its noun goes to the front.
NOT_PROJECTIVE = {"fiction_violin-06", "interview_robot-01", "interview_robot-05"}

# Which word classes may carry a relation. A word that heads a fixed expression acts as its ExtPos.
CLASSES_OF = {
    "det": {"DET"},
    "det:predet": {"DET"},
    "nummod": {"NUM"},
    "aux": {"AUX"},
    "aux:pass": {"AUX"},
    "cop": {"AUX"},
    "case": {"ADP", "PART", "VERB"},  # VERB: "including", a preposition by use
    "mark": {"SCONJ", "PART", "ADP"},
    "cc": {"CCONJ"},
    "cc:preconj": {"CCONJ"},
    "punct": {"PUNCT"},
    "advmod": {"ADV", "PART", "ADJ"},
    "amod": {"ADJ", "VERB"},
    "expl": {"PRON"},
    "discourse": {"INTJ", "NOUN", "ADJ"},
    "compound:prt": {"ADP"},
    "nmod:poss": {"NOUN", "PROPN", "PRON"},
    "flat": {"PROPN", "NUM", "NOUN"},
} | {
    relation: {"NOUN", "PROPN", "PRON", "NUM", "SYM", "ADJ", "DET", "ADV"}
    for relation in split(
        "nsubj nsubj:pass nsubj:outer obj iobj obl obl:agent obl:unmarked nmod nmod:unmarked nmod:desc"
    )
}
FUNCTION_WORDS = set("aux aux:pass cop case mark cc cc:preconj punct fixed det:predet".split())
# The dependents that UD lets a function word have: fixed expressions, coordination, and a modifier of it alone.
ALLOWED_BELOW = {
    "case": {"fixed", "conj", "cc", "advmod"},
    "mark": {"fixed", "conj", "cc", "advmod"},
    "cc": {"fixed"},
}


def parse(source):
    """Split CoNLL-U into sentences, line by line, so that nothing is repaired on the way."""
    sentences, doc = [], None
    for block in source.strip("\n").split("\n\n"):
        comments, words, ranges = {}, [], []
        for line in block.split("\n"):
            if line.startswith("#"):
                key, _, value = line[1:].partition(" = ")
                comments[key.strip()] = value
                continue
            columns = line.split("\t")
            if len(columns) != 10:
                raise ValueError(f"expected 10 columns, got {len(columns)}: {line!r}")
            if "-" in columns[0]:
                first, last = map(int, columns[0].split("-"))
                ranges.append(Range(first, last, columns[1], columns[9]))
            else:
                words.append(Word(int(columns[0]), *columns[1:6], int(columns[6]), *columns[7:]))
        doc = comments.get("newdoc id", doc)
        sentences.append(Sentence(comments.get("sent_id"), doc, comments.get("text"), words, ranges))
    return sentences


def below(sentence, word):
    """The dependents of a word."""
    return [other for other in sentence.words if other.head == word.id]


def ancestors(sentence, word):
    """The ids from a word's head up to the root; raises on a cycle."""
    heads = {other.id: other.head for other in sentence.words}
    path, current = [], word.head
    while current:
        if current in path or current == word.id:
            raise ValueError(f"cycle at word {word.id}")
        path.append(current)
        current = heads[current]
    return path


# ------------------------------------------------------------------ the rules, each a generator of mistakes


def wrong_ids(sentence):
    ids = [word.id for word in sentence.words]
    if ids != list(range(1, len(ids) + 1)):
        yield f"word ids are not 1, 2, 3 ...: {ids}"
    for word in sentence.words:
        if not 0 <= word.head <= len(ids):
            yield f"head of word {word.id} is out of range: {word.head}"
        if "" in word or word.deps != "_" or any(str(value) != str(value).strip() for value in word):
            yield f"an empty or padded field in word {word.id}"


def wrong_tree(sentence):
    roots = [word.id for word in sentence.words if word.head == 0]
    if len(roots) != 1:
        yield f"expected one root, got {roots}"
    for word in sentence.words:
        if (word.head == 0) != (word.deprel == "root"):
            yield f"word {word.id}: relation {word.deprel} with head {word.head}"
        try:
            ancestors(sentence, word)
        except (ValueError, KeyError) as error:
            yield f"not a tree: {error}"


def crossing_arcs(sentence):
    for word in sentence.words:
        if word.head:
            for between in range(min(word.id, word.head) + 1, max(word.id, word.head)):
                if word.head not in ancestors(sentence, sentence.words[between - 1]):
                    yield f"not projective: {word.form} -> {word.head} over word {between}"


def wrong_projectivity(sentence):
    crossing = list(crossing_arcs(sentence))
    if sentence.id not in NOT_PROJECTIVE:
        yield from crossing
    elif not crossing:
        yield "listed as not projective, but it is"


def wrong_tags(sentence):
    for word in sentence.words:
        if word.upos not in UPOS or word.xpos not in XPOS:
            yield f"unknown tag {word.upos} or {word.xpos}"
        if word.deprel not in UNIVERSAL | SUBTYPES:
            yield f"unknown relation {word.deprel}"


def wrong_features(sentence):
    for word in sentence.words:
        if word.feats == "_":
            continue
        pairs = word.feats.split("|")
        names = [pair.partition("=")[0] for pair in pairs]
        if not all(re.fullmatch(r"[A-Z][A-Za-z]*=[A-Z0-9][A-Za-z0-9]*", pair) for pair in pairs):
            yield f"malformed features {word.feats}"
        if names != sorted(set(names), key=str.lower):
            yield f"features unsorted or repeated: {word.feats}"
        if "Tense" in names and "VerbForm" not in names:
            yield f"Tense without VerbForm: {word.feats}"


def missing_features(sentence):
    """Features that UD English always gives."""
    expected = {
        "NN": "Number=", "NNS": "Number=", "NNP": ("Number=", "Degree="), "NNPS": "Number=", "JJ": "Degree=Pos", "JJR": "Degree=Cmp",
        "JJS": "Degree=Sup", "VBD": "Tense=Past", "VBZ": "Number=Sing|Person=3|Tense=Pres", "VBP": "Tense=Pres", "VBN": "VerbForm=Part",
        "VBG": "VerbForm=", "VB": "VerbForm=", "MD": "VerbForm=Fin", "PRP": "PronType=", "PRP$": "Poss=Yes", "DT": "PronType=",
        "WP": "PronType=", "WDT": "PronType=", "CD": "NumType=Card",
    }  # fmt: skip
    for word in sentence.words:
        wanted = expected.get(word.xpos, ())
        if wanted and not any(
            part in word.feats for part in ([wanted] if isinstance(wanted, str) else wanted)
        ):
            yield f"{word.form} ({word.xpos}) lacks {wanted}: {word.feats}"


def wrong_punctuation(sentence):
    for word in sentence.words:
        if (word.upos == "PUNCT") != (word.deprel == "punct"):
            yield f"{word.form}: {word.upos} with {word.deprel}"
        sign = all(unicodedata.category(c)[0] in "PS" for c in word.form)
        if sign != (word.upos in ("PUNCT", "SYM")) and word.xpos != "POS":  # POS: the genitive of "nurses'"
            yield f"{word.form} is tagged {word.upos}"


def wrong_function_words(sentence):
    for word in sentence.words:
        head = sentence.words[word.head - 1] if word.head else None
        if head and head.deprel in FUNCTION_WORDS and word.deprel not in ALLOWED_BELOW.get(head.deprel, ()):
            yield f"{word.form}/{word.deprel} hangs on the function word {head.form}/{head.deprel}"


def wrong_class(sentence):
    for word in sentence.words:
        acts_as = re.search(r"ExtPos=(\w+)", word.feats)
        upos = acts_as.group(1) if acts_as else word.upos
        allowed = CLASSES_OF.get(word.deprel)
        if allowed and upos not in allowed:
            yield f"{word.form}: {word.deprel} with {upos}"
        if word.upos == "AUX" and word.deprel not in ("aux", "aux:pass", "cop"):
            yield f"{word.form}: AUX with {word.deprel}"
        if word.deprel == "cop" and word.lemma != "be":
            yield f"{word.form}: cop is not 'be'"


def wrong_direction(sentence):
    for word in sentence.words:
        base = word.deprel.partition(":")[0]
        if word.deprel in ("conj", "fixed", "flat", "appos", "compound:prt") and word.head > word.id:
            yield f"{word.form}: {word.deprel} looks to the right"
        if base in ("det", "cc") and word.head < word.id:
            yield f"{word.form}: {word.deprel} looks to the left"
        if word.deprel == "fixed" and word.id - word.head != 1 + sum(
            other.deprel == "fixed" and other.head == word.head and other.id < word.id
            for other in sentence.words
        ):
            yield f"{word.form}: a gap in a fixed expression"


def wrong_frame(sentence):
    """Subjects, objects and passives that do not fit together."""
    for word in sentence.words:
        counts = Counter(other.deprel for other in below(sentence, word))
        subjects = counts["nsubj"] + counts["nsubj:pass"] + counts["csubj"]
        if subjects > 1 or counts["obj"] > 1 or counts["iobj"] > 1:
            yield f"{word.form}: two subjects or two objects"
        if counts["iobj"] and not (counts["obj"] or counts["ccomp"] or counts["xcomp"]):
            yield f"{word.form}: iobj without a second object"
        if counts["aux:pass"] and (word.xpos != "VBN" or counts["nsubj"]):
            yield f"{word.form}: a passive that is not a participle, or with an active subject"
        if counts["nsubj:pass"] and not counts["aux:pass"]:
            yield f"{word.form}: nsubj:pass without aux:pass"
        if counts["cop"] > 1 + counts["nsubj:outer"]:
            yield f"{word.form}: two copulas"
        nominal = word.upos in ("NOUN", "PROPN", "PRON", "NUM") and not counts["cop"] and not subjects
        if nominal and any(counts[name] for name in ("obj", "iobj", "xcomp", "obl:agent", "compound:prt")):
            yield f"{word.form}: a nominal with an object"
        if word.upos in ("VERB", "AUX"):
            for name in ("det", "amod", "nmod", "nmod:poss", "nummod", "case", "acl", "acl:relcl"):
                if counts[name] and not (name == "case" and "VerbForm=Ger" in word.feats):
                    yield f"{word.form}: a verb with {name}"
        if word.deprel == "obl:agent" and not any(
            o.deprel == "case" and o.form == "by" for o in below(sentence, word)
        ):
            yield f"{word.form}: obl:agent without 'by'"
        if word.deprel in ("obl", "nmod") and word.upos != "ADV" and not counts["case"]:
            yield f"{word.form}: {word.deprel} without a preposition"


def wrong_verb_chain(sentence):
    """Auxiliaries that call for another form of the verb; a missing 'to'."""
    for word in sentence.words:
        if word.deprel not in ("aux", "mark") or not word.head:
            continue
        verb = sentence.words[word.head - 1]
        chain = [
            other
            for other in below(sentence, verb)
            if other.deprel in ("aux", "aux:pass", "cop") and other.id > word.id
        ]
        following = chain[0] if chain else verb
        if word.xpos in ("MD", "TO") or word.lemma == "do":
            wanted = "VB"
        elif word.deprel == "aux":
            wanted = {"have": "VBN", "be": "VBG"}[word.lemma]
        else:
            continue
        if following.xpos != wanted:
            yield f"{word.form} + {following.form} ({following.xpos})"


def wrong_agreement(sentence):
    """A finite verb and the features it shares with its subject."""
    for word in sentence.words:
        if word.deprel in ("nsubj", "nsubj:pass") and word.xpos in ("NN", "NNS", "PRP", "NNP"):
            head = sentence.words[word.head - 1]
            if word.xpos == "PRP" and word.form.lower() in ("i", "you", "we", "they"):
                plural = True
            else:
                joined = [o for o in below(sentence, word) if o.deprel == "conj"]
                plural = "Number=Plur" in word.feats or bool(joined)
            finite = [o for o in [head, *below(sentence, head)] if o.xpos in ("VBZ", "VBP")]
            finite = [
                o for o in finite if o is head or (o.deprel in ("aux", "aux:pass", "cop") and o.id > word.id)
            ]
            for verb in finite[:1]:
                if (verb.xpos == "VBP") != plural and not (
                    verb.xpos == "VBZ" and word.upos == "NOUN" and plural and joined_singular(sentence, word)
                ):
                    yield f"{word.form} {verb.form}"


def joined_singular(sentence, word):
    """'Every flood, fire, and eruption leaves': one by one, therefore singular; 'twenty minutes is long': one measure."""
    return any(o.form.lower() in ("every", "each") or o.deprel == "nummod" for o in below(sentence, word))


def wrong_text(sentence):
    pieces, position = "", 1
    ranges = {r.first: r for r in sentence.ranges}
    while position <= len(sentence.words):
        unit = ranges.get(position) or sentence.words[position - 1]
        pieces += unit.form + ("" if "SpaceAfter=No" in unit.misc.split("|") else " ")
        position = unit.last + 1 if isinstance(unit, Range) else position + 1
    if pieces.strip() != sentence.text:
        yield f"text is {sentence.text!r}, the words say {pieces.strip()!r}"
    if unicodedata.normalize("NFC", sentence.text) != sentence.text:
        yield "text is not NFC"


def wrong_ranges(sentence):
    last = 0
    for r in sentence.ranges:
        inside = [word for word in sentence.words if r.first <= word.id <= r.last]
        if r.first <= last or r.last <= r.first or r.last > len(sentence.words):
            yield f"range {r.first}-{r.last} overlaps, is empty or too long"
        if "".join(word.form for word in inside) != r.form:
            yield f"range {r.form!r} is not the sum of its words"
        if any("SpaceAfter=No" in word.misc for word in inside):
            yield f"SpaceAfter=No inside the range {r.form!r}"
        last = r.last
    covered = {i for r in sentence.ranges for i in range(r.first, r.last + 1)}
    for word in sentence.words:
        clitic = re.fullmatch(r"n't|'(s|re|ve|ll|m|d)?", word.form) and word.upos != "PUNCT"
        if clitic and word.id not in covered:
            yield f"{word.form} stands outside a multi-word token"


def mentions_of(sentence):
    """Read the Entity brackets of one sentence; raise ValueError where they do not match."""
    mentions, stack = [], []
    for word in sentence.words:
        for field in word.misc.split("|"):
            if not field.startswith("Entity="):
                continue
            value = field.removeprefix("Entity=")
            parts = re.findall(r"\([^()]+\)|\([^()]+|[^()]+\)", value)
            if "".join(parts) != value:
                raise ValueError(f"unreadable Entity={value}")
            for part in parts:
                if part.startswith("("):
                    fields = part.strip("()").split("-")
                    if len(fields) != 3 or fields[1] not in ENTITY_TYPES or not fields[2].isdigit():
                        raise ValueError(f"expected (id-type-minspan, got {part}")
                    opened = (fields[0], fields[1], int(fields[2]), word.id)
                    if part.endswith(")"):
                        mentions.append(Mention(*opened, word.id))
                    else:
                        stack.append(opened)
                else:
                    if not stack or stack[-1][0] != part[:-1]:
                        raise ValueError(f"{part} closes nothing, or crosses another mention")
                    mentions.append(Mention(*stack.pop(), word.id))
    if stack:
        raise ValueError(f"{stack[-1][0]} is not closed in its sentence")
    return mentions


def wrong_entities(sentence):
    try:
        mentions = mentions_of(sentence)
    except ValueError as error:
        yield str(error)
        return
    spans = Counter((mention.first, mention.last) for mention in mentions)
    if spans and max(spans.values()) > 1:
        yield "two mentions on the same words"
    for mention in mentions:
        inside = range(mention.first, mention.last + 1)
        tops = [sentence.words[i - 1] for i in inside if sentence.words[i - 1].head not in inside]
        if len(tops) != 1:
            yield f"mention {mention.entity} is not one phrase: {[word.form for word in tops]}"
        elif tops[0].id != mention.first + mention.minspan - 1:
            yield f"mention {mention.entity}: minspan {mention.minspan} is not its head word {tops[0].form}"
        elif tops[0].upos not in ("NOUN", "PROPN", "PRON", "NUM", "DET", "ADJ", "SYM"):
            yield f"mention {mention.entity}: headed by a {tops[0].upos}"
        if sentence.words[mention.last - 1].form in (",", ".", ":", ";"):
            yield f"mention {mention.entity} ends in punctuation"


RULES = [
    wrong_ids, wrong_tree, wrong_projectivity, wrong_tags, wrong_features, missing_features, wrong_punctuation, wrong_function_words,
    wrong_class, wrong_direction, wrong_frame, wrong_verb_chain, wrong_agreement, wrong_text, wrong_ranges, wrong_entities,
]  # fmt: skip

SENTENCES = parse(TEXT)


def clusters(sentences):
    """For each document, the mentions of each entity."""
    found = defaultdict(lambda: defaultdict(list))
    for sentence in sentences:
        for mention in mentions_of(sentence):
            found[sentence.doc][mention.entity].append(mention)
    return found


# ------------------------------------------------------------------ the treebank obeys


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_treebank_obeys(rule):
    mistakes = [f"{sentence.id}: {mistake}" for sentence in SENTENCES for mistake in rule(sentence)]
    assert not mistakes, "\n".join(mistakes[:20])


# ------------------------------------------------------------------ and the rules can fail


def change(sentence_id, *replacements):
    """Return one sentence of the treebank with pieces of its text replaced."""
    [block] = [b for b in TEXT.strip("\n").split("\n\n") if f"# sent_id = {sentence_id}\n" in b]
    for old, new in replacements:
        assert old in block, f"{old!r} is not in {sentence_id}: the test must be written anew"
        block = block.replace(old, new, 1)
    [sentence] = parse(block)
    return sentence


# fiction_lighthouse-01: The old keeper climbed the narrow stairs of the lighthouse with a lamp in his left hand.
BROKEN = [
    (wrong_ids, "fiction_lighthouse-01", [("\n3\tkeeper", "\n4\tkeeper")], "not 1, 2, 3"),
    (wrong_ids, "fiction_lighthouse-01", [("Number=Sing\t4\tnsubj", "Number=Sing\t40\tnsubj")], "out of range"),
    (wrong_ids, "fiction_lighthouse-01", [("3\tkeeper\tkeeper", "3\tkeeper\t")], "empty"),
    (wrong_tree, "fiction_lighthouse-01", [("Number=Sing\t4\tnsubj", "Number=Sing\t0\troot")], "one root"),
    (wrong_tree, "fiction_lighthouse-01", [("VerbForm=Fin\t0\troot", "VerbForm=Fin\t3\tconj")], "cycle"),
    (wrong_tree, "fiction_lighthouse-01", [("VerbForm=Fin\t0\troot", "VerbForm=Fin\t0\tconj")], "with head 0"),
    (wrong_projectivity, "fiction_lighthouse-01", [("PronType=Art\t7\tdet", "PronType=Art\t3\tdet")], "projective"),
    (wrong_projectivity, "interview_robot-01", [("\tIN\t_\t1\tcase", "\tIN\t_\t4\tcase")], "but it is"),
    (wrong_tags, "fiction_lighthouse-01", [("\tNOUN\tNN", "\tNOUNS\tNN")], "unknown tag"),
    (wrong_tags, "fiction_lighthouse-01", [("\tnmod\t", "\tnmod:of\t")], "unknown relation"),
    (wrong_features, "fiction_lighthouse-01", [("Definite=Def|PronType=Art", "PronType=Art|Definite=Def")], "unsorted"),
    (missing_features, "fiction_lighthouse-01", [("Degree=Pos", "_")], "lacks"),
    (wrong_punctuation, "fiction_lighthouse-01", [("\tpunct\t", "\tdep\t")], "PUNCT with dep"),
    (wrong_punctuation, "fiction_lighthouse-01", [(".\t.\tPUNCT", ".\t.\tNOUN")], "NOUN with punct"),
    (wrong_function_words, "fiction_lighthouse-01", [("PronType=Art\t10\tdet", "PronType=Art\t8\tdet")], "function word"),
    (wrong_class, "fiction_lighthouse-01", [("the\tthe\tDET", "the\tthe\tPRON")], "det with PRON"),
    (wrong_class, "fiction_lighthouse-03", [("was\tbe\tAUX", "was\tseem\tAUX")], "not 'be'"),
    (wrong_class, "fiction_lighthouse-03", [("was\tbe\tAUX", "was\tbe\tVERB")], "cop with VERB"),
    (wrong_direction, "fiction_lighthouse-02", [("\t16\tcc\t", "\t3\tcc\t")], "to the left"),
    (wrong_frame, "fiction_lighthouse-01", [("\tobj\t", "\tnsubj\t")], "two subjects"),
    (wrong_frame, "news_bridge-02", [("\tnsubj:pass\t", "\tnsubj\t")], "active subject"),
    (wrong_frame, "fiction_lighthouse-01", [("10\tcase", "4\tcase")], "without a preposition"),
    (wrong_verb_chain, "fiction_lighthouse-02", [("\tVBN\t", "\tVBD\t")], "had + made"),
    (wrong_agreement, "science_tides-06", [("\tVBZ\t", "\tVBP\t")], "name has"),
    (wrong_text, "fiction_lighthouse-01", [("# text = The old", "# text = The  old")], "the words say"),
    (wrong_text, "fiction_lighthouse-01", [("|SpaceAfter=No", "")], "the words say"),
    (wrong_ranges, "dialogue_keys-03", [("\taren't", "\tarent")], "sum of its words"),
    (wrong_ranges, "dialogue_keys-03", [("\n11-12\tI'm" + "\t_" * 8, "")], "outside a multi-word token"),
    (wrong_entities, "fiction_lighthouse-01", [("Entity=e1)", "_")], "not closed"),
    (wrong_entities, "fiction_lighthouse-01", [("Entity=e3)e2)", "Entity=e2)e3)")], "crosses"),
    (wrong_entities, "fiction_lighthouse-01", [("(e1-person-3", "(e1-person-2")], "not its head word"),
    (wrong_entities, "fiction_lighthouse-01", [("(e1-person-3", "(e1-human-3")], "expected (id-type-minspan"),
    (wrong_entities, "fiction_lighthouse-01", [("Entity=e4)", "_"), ("Entity=e5)", "Entity=e5)e4)")], "is not one phrase"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "sentence_id", "replacements", "message"),
    BROKEN,
    ids=[f"{b[0].__name__}-{b[3]}" for b in BROKEN],
)
def test_a_broken_copy_is_caught(rule, sentence_id, replacements, message):
    mistakes = list(rule(change(sentence_id, *replacements)))
    assert any(message in mistake for mistake in mistakes), mistakes


def test_every_rule_is_tried_on_a_broken_copy():
    assert {broken[0] for broken in BROKEN} == set(RULES)


def test_a_missing_column_is_an_error():
    with pytest.raises(ValueError, match="10 columns"):
        parse("# sent_id = x\n# text = Hello\n1\tHello\thello\tINTJ\tUH\t_\t0\troot\t_\n")


# ------------------------------------------------------------------ documents and entities


def test_sentence_ids_are_unique_and_carry_their_document():
    ids = [sentence.id for sentence in SENTENCES]
    assert len(set(ids)) == len(ids)
    positions = Counter()
    for sentence in SENTENCES:
        positions[sentence.doc] += 1
        assert sentence.id == f"{sentence.doc}-{positions[sentence.doc]:02d}"


def test_documents_are_short_paragraphs():
    sizes = Counter(sentence.doc for sentence in SENTENCES)
    assert len(sizes) >= 70
    assert all(4 <= size <= 9 for size in sizes.values()), sizes
    assert TEXT.count("# newdoc id = ") == len(sizes)
    assert TEXT.count("# global.Entity = GRP-etype-minspan\n") == len(sizes)


def test_no_sentence_stands_twice():
    texts = Counter(sentence.text for sentence in SENTENCES)
    assert [text for text, times in texts.items() if times > 1 and len(text.split()) > 3] == []


def changing_types(sentences):
    return [
        (doc, entity)
        for doc, entities in clusters(sentences).items()
        for entity, mentions in entities.items()
        if len({mention.type for mention in mentions}) > 1
    ]


def changing_genders(sentences):
    """Entities called both 'he' and 'she', or 'he' and 'it'."""
    genders = defaultdict(set)
    for sentence in sentences:
        for mention in mentions_of(sentence):
            word = sentence.words[mention.first + mention.minspan - 2]
            gender = re.search(r"Gender=(\w+)", word.feats)
            if mention.first == mention.last and gender:
                genders[sentence.doc, mention.entity].add(gender.group(1))
    return [key for key, found in genders.items() if len(found) > 1]


def documents_with_a_cluster(sentences):
    return [d for d, entities in clusters(sentences).items() if any(len(m) > 1 for m in entities.values())]


def document(name, *replacements):
    """The sentences of one document, with pieces replaced everywhere in it."""
    blocks = [block for block in TEXT.strip("\n").split("\n\n") if f"# sent_id = {name}-" in block]
    source = "\n\n".join(blocks)
    for old, new in replacements:
        assert old in source, f"{old!r} is not in {name}: the test must be written anew"
        source = source.replace(old, new)
    return parse(source)


def test_an_entity_keeps_its_type():
    assert changing_types(SENTENCES) == []
    broken = document("fiction_lighthouse", ("(e1-person-1)", "(e1-object-1)"))
    assert changing_types(broken) == [("fiction_lighthouse", "e1")]


def test_an_entity_keeps_its_gender():
    assert changing_genders(SENTENCES) == []
    broken = document("fiction_violin", ("Entity=(e9-person-1)", "Entity=(e1-person-1)"))
    assert changing_genders(broken) == [("fiction_violin", "e1")]


def test_sixty_documents_have_a_cluster():
    assert len(documents_with_a_cluster(SENTENCES)) >= 60
    assert documents_with_a_cluster(document("news_bridge")) == ["news_bridge"]
    lonely = document("news_bridge", ("Entity=", "Other="))
    assert documents_with_a_cluster(lonely) == []


# ------------------------------------------------------------------ what the README says, and other readers


def test_the_readme_gives_the_right_counts():
    found = clusters(SENTENCES)
    mentions = [m for entities in found.values() for m in entities.values()]
    expected = {
        "documents": len({sentence.doc for sentence in SENTENCES}),
        "sentences": len(SENTENCES),
        "syntactic words": sum(len(sentence.words) for sentence in SENTENCES),
        "multi-word tokens": sum(len(sentence.ranges) for sentence in SENTENCES),
        "mentions": sum(map(len, mentions)),
        "clusters of two or more mentions": sum(len(m) > 1 for m in mentions),
        "documents with a cluster": sum(any(len(m) > 1 for m in e.values()) for e in found.values()),
    }
    rows = dict(re.findall(r"^\| ([a-z -]+?) +\| +([\d,]+) \|$", README, flags=re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in rows.items()} == expected


def test_the_readme_names_every_subtype_in_use():
    used = {word.deprel for sentence in SENTENCES for word in sentence.words if ":" in word.deprel}
    assert used == SUBTYPES
    assert all(f"`{subtype}`" in README for subtype in used)


def test_the_size_asked_for():
    lengths = [len(sentence.words) for sentence in SENTENCES]
    assert len(lengths) >= 400
    assert 13 <= sum(lengths) / len(lengths) <= 17
    assert sum(length > 25 for length in lengths) >= 20
    assert sum(length <= 8 for length in lengths) >= 60


def test_the_common_relations_of_the_paper_are_there():
    counts = Counter(word.deprel for sentence in SENTENCES for word in sentence.words)
    for relation in split(
        "nsubj obj amod advmod case det nmod:poss aux mark ccomp xcomp advcl conj obl compound cop nummod"
    ):
        assert counts[relation] >= 50, relation
    for relation in ("aux:pass", "nsubj:pass", "acl:relcl", "parataxis", "appos", "flat"):
        assert counts[relation] >= 40, relation
    assert counts["compound:prt"] >= 20


def test_every_sentence_is_short_enough_for_the_specimen():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ROOT / "data" / "model")
    pieces = {s.id: len(tokenizer(s.text)["input_ids"]) for s in SENTENCES}
    assert max(pieces.values()) < 60, max(pieces, key=pieces.get)


def test_the_conllu_library_reads_the_same():
    sentences = conllu.parse(TEXT)
    assert len(sentences) == len(SENTENCES)
    for theirs, ours in zip(sentences, SENTENCES, strict=True):
        words = [token for token in theirs if isinstance(token["id"], int)]
        assert [(w["form"], w["head"], w["deprel"]) for w in words] == [
            (w.form, w.head, w.deprel) for w in ours.words
        ]
