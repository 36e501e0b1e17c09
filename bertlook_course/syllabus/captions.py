"""The words that the course says twice, in Python and in a page: of its views, of patterns, of the votes of a room. Each stands here once.

The course's views get them by `module_source`, and what answers in Python's place (`bertlook_press/pages/js/`) by `engine_source`. The
helper's words (`bertlook_teach.views.CAPTIONS`) come first, under other names. What one language alone says stands where it is said.
"""

from __future__ import annotations

from bertlook_teach.views import CAPTIONS as SHARED
from bertlook_teach.views import worded as worded_in

CAPTIONS = {
    # arcs over a sentence
    "no arc": "This sentence has no such arc.",
    "one arc": "The treebank: 1 arc.",
    "arcs": "The treebank: {count} arcs.",
    "head as read": "{head}, read as “{reading}”",
    "right arcs": "{who}: {right} of {count} right.",
    "wrong arc": "For {dependent} it names {answer}, not {governor}.",
    # the masked word
    "nothing known": "The model knows nothing in your guess.",
    "several pieces": "Your guess is {count} wordpieces; the model fills in one.",
    "your guess": "Your guess {piece}: {share}, guess {rank} of {count}.",
    "right word": "Right word {piece}: {share}, guess {rank} of {count}.",
    "first guess": "First guess {piece} ({share}).",
    "several masks": "the sentence holds {count} times {mask}; one word is guessed at a time.",
    "mask typed": "the sentence holds {mask} already, at position {place}; type a word in its place to mask another.",
    # neurons
    "one weight": "{head}: {query} looks at {key} with weight {share}, score {score}.",
    "one product": "That is the sum of 1 product, {sum}, divided by {root}.",
    "products": "That is the sum of {count} products, {sum}, divided by {root}.",
    "adds most": "Dimension {dimension} adds most, {amount}",
    "takes most": "Dimension {dimension} takes away most, {amount}",
    "not drawn": "the {count} that are not drawn one by one add {sum}",
    # six lenses
    "head and query": "{head}, query {query}",
    "lenses": "{who}: {said}.",
    "most": "most is {places}",
    "most at": "at {key} in {lenses}",
    "little": "little (under {share}) in {lenses}",
    # the film of a training run
    "best head": "After {tokens} tokens, {measure}: head {head} has most, {value}.",
    "not there": "Head {head} is not there yet; it ends at {end}.",
    "at its end": "Head {head} ends at {end}.",
    "on its way": "Head {head} is at {value} and ends at {end}.",
    "no way": "It hardly changes.",
    "half way": "It is half way there after {tokens}.",
    "baseline": "{name}: {value}.",
    # heads off
    "all on": "all heads on",
    "all off": "all {count} heads off",
    "layer off": "layer {names} off",
    "layers off": "layers {names} off",
    "head off": "head {names} off",
    "heads off": "heads {names} off",
    "many off": "{count} of {all} heads off",
    "zero": "its output is 0",
    "zeros": "their outputs are 0",
    "uniform": "it looks at all tokens equally",
    "uniforms": "they look at all tokens equally",
    "off": "{model}: {off}.",
    "off so": "{model}: {off} ({way}).",
    "first and now": "First guess {first} ({share}), now {now} ({share_now}).",
    "right and now": "Right word {truth}: {share}, now {share_now}. First guess {first}, now {now}.",
    "control": "This is the positive control: no word can see another, and the guess is made from place and habit alone.",
    "guesses now": "now",
    "guesses alike": "now (the same)",
    "before and after": "{before} → {after}, change {change} [{low}, {high}]",
    "loss of a text": "Masked-LM loss, nats: {change} ({pieces} pieces of 1 text).",
    "loss": "Masked-LM loss, nats: {change} ({pieces} pieces of {count} texts).",
    # a pattern in words
    "the side": "the {side}",
    "both": "{left} and {right}",
    "either": "{left} or {right}",
    "not": "not",
    "or": "or",
    "not so": "it is not the case that ({words})",
    "one word": "1 word",
    "words": "{count} words",
    "words before": "{words} before",
    "words after": "{words} after",
    "word": "word",
    "word so": "word for which ({words})",
    # a pattern on one text
    "one case": "{pattern} 1 of {all} {kind} has such a key: {pairs}.",
    "cases": "{pattern} {count} of {all} {kind} have such a key: {pairs}.",
    "more pairs": "{pairs} and {count} more",
    "tokens": "tokens",
    "words and marks": "words and marks",
    "guessing": "A head finds a case if it looks most at such a key; guessing among the {kind} finds {share}.",
    "one text": "One text decides nothing: the best of many heads may be best by luck.",
    "undecided": "cannot be decided: {reason}.",
    "no two words": "no text has two words, and a word does not answer with itself",
    "no pair": "the pattern matches no pair of words in any text",
    "matches others": "{reason}; it matches special tokens or the query itself, which answer only with answers='anything'",
    "every pair": "the pattern matches every pair, so that every head is always right",
    "misses others": "{reason}; answers='anything' lets special tokens and the query itself answer too",
    # what a pattern's conditions take and need
    "takes nothing": "nothing",
    "takes texts": "one or more texts in quotes",
    "takes steps": "one or more whole numbers other than 0",
    "takes numbers": "one or more whole numbers",
    "takes count": "one whole number, at least 1",
    "takes segment": "'A' or 'B'",
    "takes search": "nothing, words in quotes, or one pattern",
    "a treebank": "a treebank",
    "pairs of texts": "pairs of texts",
    "needs a treebank": "{conditions} can only be asked of a treebank, and this is plain text. Give sentences in CoNLL-U (read_conllu, or "
    "--data FILE), or use: {names}.",
    "needs pairs": "{conditions} asks for two segments, and these texts have one; give pairs of texts (read_pairs, or --pairs FILE).",
    # a pattern that cannot be read
    "empty": 'the pattern is empty; write for example query.pos("DET") & key.governor().',
    "too long": "a pattern has at most {most} characters; this one has {count}.",
    "too deep": "a pattern has at most {most} parts within one another; write it in fewer.",
    "unreadable": "the pattern cannot be read: {why}.",
    "brackets": "too many brackets",
    "no expression": "this is not an expression: {why}, in column {column} of {text}.",
    "straight": "Quotes must be straight: \" or '.",
    "expected": 'Expected for example: query.pos("DET") & key.governor().',
    "where": "{part} in column {column}",
    "in column": "{said} In column {column}.",
    "in words": "put conditions together with &, | and ~, not with and, or, not; got {where}.",
    "no condition": 'a pattern is made of conditions such as query.pos("DET") and key.governor(); got {where}.',
    "not asked": "a condition ends with brackets, for example key.governor(); got {where}.",
    "unknown": "{side} has no condition {name}.",
    "there are": "There are: {names}.",
    "takes": "{condition} takes {takes}; got {got}.",
    # votes that are not counted
    "several letters": "{line} has several letters; write codes, such as {code}",
    "other lesson": "{code} is of lesson {its_lesson}; this is lesson {lesson}",
    "no choice": "{code} is none of the choices {letters}",
}

_ALL = SHARED | CAPTIONS


def worded(name: str, /, **parts) -> str:
    """A sentence of the course or of the helper, or a part of one, with its parts put in.

    >>> worded("wrong arc", dependent="“the”", answer="“sat”", governor="“cat”")
    'For “the” it names “sat”, not “cat”.'
    """
    return worded_in(name, _ALL, **parts)
