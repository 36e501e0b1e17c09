"""The commands with which `training/remake.py` measures the tables of docs/results.md: each writes into results/FOLDER of its work folder."""

from remake_pages import LeftOut

BERTLOOK = ("-m", "bertlook_teach.commands")
UD = ("en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", "en_gum-ud-dev.conllu", "en_gum-ud-test.conllu")


def runs_of(*runs):
    """Commands of the kind ``bertlook COMMAND ... --out results/FOLDER``: (folder, command, {option: file name}, further arguments)."""

    def commands(place):
        return [
            [
                *BERTLOOK, command, "--model", "specimen",
                *(part for option, name in files.items() for part in (option, str(place.find(name)))),
                *more, "--out", str(place.work / "results" / folder),
            ]
            for folder, command, files, more in runs
        ]  # fmt: skip

    return commands


def layers(place):
    runs = []
    for task in ("pos", "dep", "entity", "coref"):
        files = {"--data": f"{task}-train.jsonl", "--test": f"{task}-test.jsonl"}
        more = f"--task {task} --limit 600 --max-cases 3000 --seeds 2".split()
        runs.append((f"layers-{task}", "layers", files, more))
    return runs_of(*runs)(place)


def keywords(place):
    texts = (("inspec", "inspec", "400"), ("semeval", "semeval2017", "400"), ("news", "500n-kpcrowd", "300"))
    runs = [
        (f"keywords-{name}", "keywords", {"--data": f"{file}.jsonl"}, ("--limit", n, "--tune"))
        for name, file, n in texts
    ]
    return runs_of(("keywords-course", "keywords", {}, ("--tune", "--remove-tuned")), *runs)(place)


def patterns(place):
    patterns = (
        "query.pos('DET') & key.governor()",
        "query.relation('obj') & key.governor()",
        "query.pos('ADJ') & key.governor()",
        "query.pos('PRON') & key.before() & key.pos('NOUN', 'PROPN')",
        "key.next(',')",
        "query.pos('VERB') & key.next('.')",
    )
    kept = ("--cache", str(place.work / "maps"))  # before the pattern: --data would take it for another file
    runs = [(f"pattern-{i}", "pattern", {"--data": UD[1]}, (*kept, one)) for i, one in enumerate(patterns, 1)]
    return runs_of(*runs)(place)


GLUE = {"mrpc": "test", "rte": "dev", "cola": "dev", "sts-b": "dev", "sst2": "test"}  # task -> what is scored
OURS = ("sentiment", "same-topic", "agreement")


def tasks(place):
    commands = []
    for task, scored in GLUE.items():
        files = {f"--{part}": f"{task}-{part}.jsonl" for part in dict.fromkeys(("train", "dev", scored))}
        more = ("--seeds", "1", "--epochs", "4", "--overlap", "drop", "--truncate")
        more += ("--limit", "4000") if task in ("cola", "sts-b", "sst2") else ()
        commands += runs_of((f"task-{task}", "finetune", files, more))(place)
    for task in OURS:
        more = ("--task", task, "--seeds", "3", "--epochs", "5")
        commands += runs_of((f"task-{task}", "finetune", {}, more))(place)
    return commands


def heads_off(place):
    """Heads of the classifier for MRPC, and of each seed for agreement."""
    results = place.work / "results"
    mrpc = ["--model", str(results / "task-mrpc" / "seed-0"), "--test", str(place.find("mrpc-test.jsonl"))]
    commands = [[*BERTLOOK, "ablate", *mrpc, "--out", str(results / "heads-mrpc")]]
    for seed in range(3):
        model, out = results / "task-agreement" / f"seed-{seed}", results / f"heads-agreement-{seed}"
        options = ["--task", "agreement", "--curve", "--out", str(out)]
        commands.append([*BERTLOOK, "ablate", "--model", str(model), *options])
    return commands


def negation(place):
    tuned = place.work / "results" / "negation"
    first = runs_of(
        ("negation", "negation", {}, ("--seeds", "5", "--epochs", "10", "--parts-of-speech", "--save-models"))
    )
    compared = [
        [*BERTLOOK, "compare", "specimen", str(tuned / f"{task}-{seed}"), "--out", str(place.work / "results" / f"compare-{task}-{seed}")]
        for task in ("negation", "control", "parts-of-speech") for seed in range(5)
    ]  # fmt: skip
    return [*first(place), *compared]


def tables(place):
    folders = sorted(str(p) for p in (place.work / "results").glob("*") if p.is_dir())
    if not folders:
        raise LeftOut("results (their steps were left out)")
    return [["training/results_tables.py", *folders, ">", str(place.work / "results.md")]]
