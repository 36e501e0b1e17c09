"""The tables of docs/results.md, in Markdown, from what `bertlook` commands saved; `put_tables.py` puts them there."""

from pathlib import Path

from bertlook_course.storage import with_interval
from bertlook_teach.model import model_title

MIN_CASES = 600
_SLIDES_SCORE = ("spread of the maxima", "head entropy", "share to [SEP]", "AUC, column max")
_TEXTS = {
    "the shipped texts": "The course's texts",
    "inspec": "Inspec, first 400 abstracts",
    "semeval2017": "SemEval 2017, first 400 paragraphs",
    "500n-kpcrowd": "500N-KPCrowd, first 300 news",
}
KINDS = ("all", "pronoun", "proper", "nominal")
# The rows of the paper's Table 1 are printed however rare they are.
STANFORD = [
    "all",
    "prep",
    "pobj",
    "det",
    "nn",
    "nsubj",
    "amod",
    "dobj",
    "advmod",
    "aux",
    "poss",
    "auxpass",
    "ccomp",
    "mark",
    "prt",
]


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def interval(row, value="accuracy", low="low", high="high"):
    return with_interval(row[value], row[low], row[high])


def gain(row):
    low, high = 100 * row["gain_low"], 100 * row["gain_high"]
    return f"{100 * row['gain']:+.1f} [{low:+.1f}, {high:+.1f}]"


def syntax_table(result):
    """A row a relation; UD: those with 600 cases or more, the commonest first after the totals."""
    rows = {row["relation"]: row for row in result["rows"]}
    if result["about"]["scheme"] == "stanford":
        chosen = [rows[name] for name in STANFORD if name in rows]
    else:
        chosen = [row for row in rows.values() if row["n"] >= MIN_CASES]
    header = ["relation", "n", "head", "accuracy", "best offset", "gain", "random twin"]
    header += ["best on the same sentences", "p"]
    lines = []
    for row in chosen:
        offset = f"{100 * row['baseline']:.1f} ({row['offset']})"
        twin = interval(row, "twin", "twin_low", "twin_high")
        cells = [row["relation"], f"{row['n']:,}", row["head"], interval(row), offset, gain(row), twin]
        lines.append([*cells, f"{100 * row['in_sample']:.1f}", f"{row['p_corrected']:.3f}"])
    return table(header, lines)


_PREDICTORS = {"nearest": "nearest mention", "head match": "same head word"}


def _predictor(row, model):
    """As the page calls it; the candidates of the heads stand in its headings."""
    name = row["predictor"]
    if not name.startswith("best head"):
        return _PREDICTORS.get(name, name)
    return f"**best head of {whose(model)}**" if row["model"] == model else "best head of the random twin"


def whose(model: str) -> str:
    """A model in a heading or a row: "the specimen", "MiniLM"."""
    return "the specimen" if model == "specimen" else model_title(model).partition(",")[0]


def coref_table(result):
    """Predictors beside kinds of mention; for pronoun pairs a row a predictor and group."""
    rows, model = result["rows"], result["about"]["model"]
    key = "kind" if result["about"]["kind"] == "documents" else "group"
    kinds = KINDS if key == "kind" else tuple(dict.fromkeys(row[key] for row in rows))
    named = {}
    for row in rows:
        named.setdefault(_predictor(row, model), {})[row[key]] = row
    sizes = next(iter(named.values()))
    header = ["predictor", *(f"{kind} (n = {sizes[kind]['n']:,})" for kind in kinds)]
    lines = [[who, *(interval(of[kind]) for kind in kinds)] for who, of in named.items()]
    best = [f"{who.strip('*')}: {of['all']['heads']}" for who, of in named.items() if of["all"]["heads"]]
    return table(header, lines) + "\n\nHeads chosen for all: " + "; ".join(best) + "."


_PAIRS = {
    "gap-development": "GAP development (texts that fit, one name is right)",
    "winogender": "Winogender",
    "winobias": "WinoBias",
}


def pairs_table(results):
    """Pronoun pairs: a row a file, all groups together."""
    header = [
        "data",
        "n",
        "nearer",
        "first",
        f"best head of {whose(results[0]['about']['model'])}",
        "of the random twin",
    ]
    lines = []
    for result in results:
        rows = [row for row in result["rows"] if row["group"] == "all"]
        model = result["about"]["model"]
        of = {
            (row["model"] != model, row["predictor"].startswith("best head") or row["predictor"]): row
            for row in rows
        }
        name = result["about"]["data"].partition(".")[0]
        cells = [
            interval(of[key]) for key in ((False, "nearer"), (False, "first"), (False, True), (True, True))
        ]
        lines.append([_PAIRS.get(name, name), f"{of[False, True]['n']:,}", *cells])
    return table(header, lines)


def layers_table(result):
    """A row a run: each layer alone, the best one with what it adds, and the expected layer where that is sure."""
    curves = {}
    for row in result["rows"]:
        if row["layer"] is not None and row["mix"] is None:
            curves.setdefault(row["run"], []).append(f"{100 * row['f1']:.1f}")
    depth = len(next(iter(curves.values())))
    header = ["run", *(f"layer {i}" if i else "embeddings" for i in range(depth)), "best layer", "adds", "expected layer"]  # fmt: skip
    lines = []
    for run, found in result["about"]["summary"].items():
        adds = f"{100 * found['gain']:+.1f} [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]"
        where = (
            "not sure"
            if found["expected layer"] is None
            else (
                f"{found['expected layer']:.2f} [{found['expected low']:.2f}, {found['expected high']:.2f}]"
            )
        )
        best = f"{found['best layer']:.0f} ({100 * found['stays best']:.0f} %)"
        lines.append([run, *curves[run], best, adds, where])
    if not result["about"]["converged"]:
        raise ValueError(f"{result['about']['task']}: some fits have not finished; they make no table")
    return table(header, lines)


def keywords_table(result):
    """A row a score; the random twin's numbers beside those of the model's."""
    header = ["score", "AUC [95 %]", "F1 [95 %]", "nats", "random twin: AUC [95 %]", "F1", "nats"]
    cells = {
        (row["run"] == "random twin", row["score"]): [
            interval(row, name, f"{name}_low", f"{name}_high") for name in ("auc", "f1")
        ]
        + [f"{row['loss']:.3f}"]
        for row in result["rows"]
    }
    lines = [
        [row["as"], *cells[False, row["score"]], *cells.get((True, row["score"]), "---")]
        for row in result["rows"]
        if row["run"] != "random twin"
    ]
    return table(header, lines)


def patterns_table(results):
    """A row a pattern: the best head beside the best rule, chance and the random twin; then the head that gives its keys most."""
    header = ["pattern", "n", "head", "accuracy", "best rule", "gain", "chance", "random twin", "mass"]
    lines = []
    for result in results:
        found, mass = ({row["measure"]: row for row in result["rows"]}[name] for name in ("accuracy", "mass"))
        pattern = result["about"]["pattern"].replace("|", "\\|")
        low, high = 100 * found["gain_low"], 100 * found["gain_high"]
        lines.append([
            f"`{pattern}`", f"{found['n']:,}", found["heads"], interval(found, "value"), f"{100 * found['rule']:.1f} ({found['rules']})",
            f"{100 * found['gain']:.1f} [{low:.1f}, {high:.1f}]", f"{100 * found['chance']:.1f}",
            interval(found, "twin", "twin_low", "twin_high"), f"{interval(mass, 'value')} ({mass['heads']})",
        ])  # fmt: skip
    return table(header, lines)


def removal_table(result):
    """A row a score and order: all heads, some of them taken away, none left."""
    rows = [row for row in result["rows"] if row["run"] == "model"]
    heads = max(row["heads_off"] for row in rows)
    steps = sorted({round(share * heads) for share in (0.3, 0.5, 0.7)} & {row["heads_off"] for row in rows})
    header = [
        "score of",
        "order",
        "all heads",
        f"{steps[0]} of {heads} away",
        *(f"{n} away" for n in steps[1:]),
        "none left",
    ]
    lines = []
    for score in dict.fromkeys(row["score_of"] for row in rows):
        for order in dict.fromkeys(row["order"] for row in rows):
            of = {row["heads_off"]: row for row in rows if (row["score_of"], row["order"]) == (score, order)}
            lines.append([score, order, *(interval(of[n], "score") for n in (0, *steps, heads))])
    return table(header, lines)


def entropies_table(results):
    """A row a set of texts: with what the slides' score of a head goes, over the heads of the model and of its random twin."""
    header = [
        "texts",
        "spread of the maxima",
        "head entropy",
        "share to [SEP]",
        "AUC of the maxima",
        "the twin's: spread",
        "AUC",
    ]
    lines = []
    for result in results:
        about = result["about"]
        model, twin = about["slides' score"]["model"], about["slides' score"]["random twin"]
        values = [*(model[name] for name in _SLIDES_SCORE), twin[_SLIDES_SCORE[0]], twin[_SLIDES_SCORE[-1]]]
        lines.append([_TEXTS[about["data"].partition(".")[0]], *(f"{value:+.2f}" for value in values)])
    return table(header, lines)


# How the page calls a task: by the file that was trained on, or the course's own name.
_TASKS = {
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "rte": "RTE",
    "cola": "CoLA",
    "sts-b": "STS-B",
    "sentiment": "sentiment (ours)",
    "same-topic": "same topic (ours)",
    "agreement": "agreement (ours)",
}


def tasks_table(results):
    """A row a task: what needs no model, a bag of words, the specimen and its twin; of several seeds their mean and range."""
    header = [
        "task",
        "measure",
        "train",
        "n",
        "commoner answer",
        "bag of words",
        "specimen",
        "its random twin",
    ]
    lines = []
    for result in results:
        about, of = result["about"], {}
        for row in result["rows"]:
            of.setdefault(row["answers"], []).append(row)
        (common,), (words,), *tuned = of.values()  # in the order in which the command writes them
        cells = [interval(common, "value"), interval(words, "value"), *(_over_seeds(rows) for rows in tuned)]
        lines.append(
            [_TASKS[about["task"]], common["metric"], f"{about['n_train']:,}", str(common["n"]), *cells]
        )
    return table(header, lines)


def _over_seeds(rows):
    if len(rows) == 1:
        return interval(rows[0], "value")
    values = [100 * row["value"] for row in rows]
    return f"{sum(values) / len(values):.1f}, seeds {min(values):.1f} to {max(values):.1f}"


def one_head_table(results):
    """A row a classifier: how many of its heads matter alone, the one that costs most and the one that is best away."""
    header = [
        "classifier",
        "n",
        "heads",
        "p < .05",
        "after Holm",
        "head that costs most",
        "best to be without",
    ]
    lines = []
    for result in results:
        rows, about = result["rows"], result["about"]
        task, seed = Path(about["model"]).parts[
            -2:
        ]  # training/remake.py names folders so: task-agreement/seed-1
        name = _TASKS[task.removeprefix("task-")]
        name += f", seed {seed.removeprefix('seed-')}" if "ours" in name else ""
        ends = [pick(rows, key=lambda row: row["score_change"]) for pick in (min, max)]
        told = [
            f"{row['head']}: {with_interval(row['score_change'], row['score_low'], row['score_high'], sign='+')}"
            for row in ends
        ]
        below = [about[f"heads below .05 {which}"] for which in ("uncorrected", "corrected")]
        lines.append([name, str(about["n"]), str(len(rows)), *map(str, below), *told])
    return table(header, lines)


def together_table(result, shares=(0, 0.1, 0.3, 0.5, 0.6, 0.8, 1)):
    """A row a number of heads that are off together, a column an order."""
    named = {"worst": "least important first", "best": "most important first", "random": "random"}
    of = {}
    for row in result["rows"]:
        of.setdefault(row["heads_off"], {})[row["order"].partition(" ")[0]] = row
    heads = max(of)
    steps = sorted({round(share * heads) for share in shares} & set(of))
    lines = [[f"{n} of {heads}", *(interval(of[n][order], "score") for order in named)] for n in steps]
    return table(["heads off", *named.values()], lines)


def seeds_table(results, shares=(0.1, 0.3, 0.5)):
    """A row a number of heads that are off together, a column an order and seed."""
    named = {"best": "most important first", "worst": "least important first"}
    header, of = ["heads off"], {}
    for order, called in named.items():
        for seed, result in enumerate(results):
            header.append(f"{called}, seed {seed}")
            for row in result["rows"]:
                if row["order"].startswith(order):
                    of.setdefault(row["heads_off"], []).append(interval(row, "score"))
    heads = max(of)
    steps = sorted({round(share * heads) for share in shares} & set(of))
    return table(header, [[f"{n} of {heads}", *of[n]] for n in steps])


def _many(labels):
    """Names and how often each, the commonest first.

    >>> _many(["2-4", "5-4", "2-4"])
    '2-4 (twice), 5-4'
    """
    often = {label: labels.count(label) for label in labels}
    times = {1: "", 2: " (twice)", 3: " (three times)", 4: " (four times)", 5: " (five times)"}
    ordered = sorted(often.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{label}{times.get(n, f' ({n} times)')}" for label, n in ordered)


_RULES = {
    "a random word (expected)": "a random word (expected)",
    "the word at -1": "the word before",
    "the word of most pieces": "the word of most wordpieces",
    "the nearest listed cue": "the nearest word on a list of cues",
}


def negation_table(result):
    """A row a rule, a model, a model tuned with several seeds: mean F1 over heads, and the head that is best on the tuning half."""
    model, groups = result["about"]["model"], {}
    for row in result["rows"]:
        groups.setdefault(row["answers"], []).append(row)
    lines = []
    for name, rows in groups.items():
        of, _, task = name.partition(", tuned on ")
        called = _RULES.get(name, name if name.startswith("the word at") else None)
        if called is None and len(rows) == 1 and not task:
            of, _, cue = name.partition(", another word")
            called = model if of == model else "random twin"
            called = (
                f"{'the same' if of == model else 'the twin'}, another word as the cue" if cue else called
            )
        elif called is None:
            called = f"{'twin ' if of != model else ''}tuned on {'the ' * (task == 'control')}{task}, {len(rows)} seeds"
        low, high = (pick(100 * row["f1"] for row in rows) for pick in (min, max))
        mean = sum(100 * row["f1"] for row in rows) / len(rows)
        f1 = interval(rows[0], "f1") if len(rows) == 1 else f"{mean:.1f}, from {low:.1f} to {high:.1f}"
        if rows[0]["best"] is None:
            lines.append([called, f1, "", ""])
            continue
        best = interval(rows[0], "best_f1", "best_low", "best_high")
        if len(rows) > 1:
            best = " to ".join(f"{pick(100 * row['best_f1'] for row in rows):.1f}" for pick in (min, max))
        lines.append([called, f1, _many([row["best"] for row in rows]), best])
    return table(["answers", "mean F1 of heads", "best head", "its F1"], lines)


def changes_table(results):
    """A row a task that was tuned on, from its seeds: layer by layer how far maps moved, their cosine and its floor; then the random twin."""
    header = ["tuned on", "divergence before/after", "cosine", "floor", "heads kept, of 36"]
    lines, tasks = [], {}
    for result in results:
        task = Path(result["about"]["after"]).name.rpartition("-")[0].replace("-", " ")
        tasks.setdefault(task, []).append(result)
    for task, seeds in tasks.items():
        cells = []
        for column, digits in (("js", 3), ("cosine", 2), ("floor", 2)):
            layers = zip(*([row[column] for row in result["rows"]] for result in seeds))
            means = (sum(values) / len(values) for values in layers)
            cells.append(" ".join(f"{mean:.{digits}f}".removeprefix("0") for mean in means))
        own = [result["about"][f"against {result['about']['after']}"] for result in seeds]
        lines.append([task, *cells, " ".join(str(one["heads paired with themselves"]) for one in own)])
    about = results[0]["about"]
    for name in about:
        if name.startswith("against ") and name != f"against {about['after']}":
            twin = about[name]
            mean = f"mean {twin['mean divergence, nats']:.3f}".replace("0.", ".")
            lines.append(
                ["nothing: the random twin", mean, "", "", str(twin["heads paired with themselves"])]
            )
    return table(header, lines)


def differences_table(result):
    """A row a control: mean F1 after negation less that after the control."""
    contrasts, lines = result["about"]["contrasts"], []
    model = result["about"]["model"]
    for name, found in contrasts.items():
        for task, contrast in found.items():
            called = task if name == model else f"{task}, random twin"
            p = f"{contrast['p']:.4f}".removeprefix("0")
            lines.append([called, f"{100 * contrast['difference']:+.1f}", p])
            least, seeds = f"{contrast['least p']:.4f}".removeprefix("0"), len(contrast["negation"])
    return table(
        ["negation minus", "difference of mean F1", f"p over {seeds} seeds (at best {least})"], lines
    )


def value_table(result, name):
    """Any other saved table with a value and its interval: a row a row."""
    rows = result["rows"]
    columns = [key for key in rows[0] if key not in ("value", "low", "high", "n")]
    lines = [[*(str(row[c]) for c in columns), interval(row, "value"), f"{row['n']:,}"] for row in rows]
    return table([name, *columns[1:], "value [95 %]", "n"], lines)
