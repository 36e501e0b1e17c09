"""Train a small BERT from plain text: WordPiece, masked language model and next-sentence prediction.

    python training/pretrain.py RECIPE.toml TEXT [TEXT ...] --run FOLDER --out FOLDER

TEXT is a ``.txt`` or ``.txt.gz`` file or a folder of them: one paragraph a line, an empty line between documents.
The run folder holds everything needed to go on. Start the same command again after a crash, a kill or a power cut and
it continues from the last checkpoint, and the weights come out as if nothing had happened (same machine, same number
of threads). To repeat a whole run, give it the same vocabulary too (--vocabulary). The finished model goes to --out as
an ordinary transformers folder in half precision.

The recipe (see data/model/recipe.toml) counts in tokens, not in minutes, so that a run can be repeated.

The specimen's texts are not in the repository. To build a set like it, take openly licensed English: Wikipedia articles
(dumps.wikimedia.org), OpenStax textbooks under CC BY, Standard Ebooks, Project Gutenberg novels, US presidential
speeches, MASC (anc.org), African Storybook, TinyStories, OneStopEnglish; 10 to 30 million words; tables, lists,
headings and licence notes taken out. data/model/MODEL_CARD.md has the table with the licences.

Runs on a CPU, in bfloat16 where the processor computes in it, or on a GPU.
"""

import argparse
import csv
import json
import math
import re
import shutil
import signal
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pretrain_data as data
import pretrain_model as models
from pretrain_checkpoint import load_checkpoint, restore, save_checkpoint
from pretrain_data import PretrainError

RECIPE = {  # section -> key -> type; every key is needed, none other is allowed
    "tokenizer": {"vocab_size": int, "min_frequency": int, "alphabet": int},
    "model": {"width": int, "heads": int, "feed_forward": int, "positions": int},
    "init": {
        "query_key_sd": float,
        "value_output_sd": float,
        "position_scale": float,
        "position_period": float,
    },
    "optimizer": {
        "beta1": float,
        "beta2": float,
        "epsilon": float,
        "weight_decay": float,
        "clip": float,
    },
    "data": {"heldout_every": int, "shard_documents": int},
}
PHASE = {
    "name": str,
    "layers": int,
    "length": int,  # wordpieces in an instance, at most
    "batch": int,  # instances
    "tokens": int,  # budget; the phase ends with the batch that reaches it
    "lr": float,  # at its highest
    "warmup": float,  # share of the budget in which lr rises from 0 to its highest
    "floor": float,  # lr at the end, as a share of the highest; the fall is linear
    "nsp": float,  # weight of the next-sentence loss
    "mask": float,  # share of the wordpieces to predict
    "dropout": float,
    "attention_dropout": float,
}
LOG_COLUMNS = ("phase", "step", "tokens", "seconds", "mlm_loss", "nsp_loss", "lr")


# --- recipe ------------------------------------------------------------------------------------------------------


def read_recipe(path):
    """Read and check a recipe; every message names the key that is wrong."""
    try:
        recipe = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PretrainError(f"no recipe at {path}; copy data/model/recipe.toml and change it") from None
    except tomllib.TOMLDecodeError as error:
        raise PretrainError(f"{path} is not valid TOML: {error}") from None
    _check_keys(recipe, {"seed": int, **dict.fromkeys(RECIPE, dict), "phases": list}, str(path))
    for section, keys in RECIPE.items():
        _check_keys(recipe[section], keys, f"{path} [{section}]")
    if not recipe["phases"]:
        raise PretrainError(f"{path}: at least one [[phases]] is needed")
    layers = 0
    for number, phase in enumerate(recipe["phases"], 1):
        where = f"{path}, phase {number}"
        _check_keys(phase, PHASE, where)
        if not 0 < phase["mask"] < 1:
            raise PretrainError(f"{where}: mask must lie between 0 and 1, got {phase['mask']}")
        if layers and phase["layers"] % layers:
            raise PretrainError(f"{where}: {phase['layers']} layers is no multiple of the {layers} before it")
        if not 20 <= phase["length"] <= recipe["model"]["positions"]:
            raise PretrainError(
                f"{where}: length must be from 20 to positions ({recipe['model']['positions']}), "
                f"got {phase['length']}"
            )
        layers = phase["layers"]
    if recipe["model"]["width"] % (2 * recipe["model"]["heads"]):
        raise PretrainError(f"{path} [model]: width must be a multiple of twice the number of heads")
    if recipe["tokenizer"]["vocab_size"] > 65_536:
        raise PretrainError(f"{path} [tokenizer]: vocab_size can be 65536 at most (ids are kept in 16 bits)")
    return recipe


def _check_keys(table, expected, where):
    missing, unknown = sorted(set(expected) - set(table)), sorted(set(table) - set(expected))
    if missing or unknown:
        raise PretrainError(
            f"{where}: "
            + "; ".join(f"{w}: {', '.join(k)}" for w, k in [("missing", missing), ("unknown", unknown)] if k)
        )
    for key, kind in expected.items():
        value = table[key]
        if kind is float and type(value) is int:
            table[key] = value = float(value)
        if type(value) is not kind:
            raise PretrainError(f"{where}: {key} must be {kind.__name__}, got {value!r}")


def learning_rate(phase, tokens):
    """Learning rate after ``tokens`` of a phase: linear rise, then linear fall to the floor."""
    done = min(tokens / phase["tokens"], 1.0)
    if done < phase["warmup"]:
        return phase["lr"] * done / phase["warmup"]
    left = (1 - done) / (1 - phase["warmup"]) if phase["warmup"] < 1 else 0.0
    return phase["lr"] * (phase["floor"] + (1 - phase["floor"]) * left)


def is_film_point(before, after, first=50_000, ratio=1.35):
    """Whether a log-spaced token count (``first * ratio**i``) lies in ``(before, after]``: the weights are kept there."""

    def passed(tokens):
        return math.floor(math.log(tokens / first, ratio) + 1e-9) if tokens >= first else -1

    return passed(after) > passed(before)


# --- tables that survive a kill ------------------------------------------------------------------------------------


class Table:
    """A CSV file that grows by rows; on resuming, rows written after the checkpoint are dropped (they come again)."""

    def __init__(self, path, columns, *, upto_step):
        self.path, self.columns = path, columns
        rows = []
        if path.exists():
            with open(path, newline="", encoding="utf-8") as file:
                rows = [row for row in csv.DictReader(file) if self._kept(row, upto_step)]
        self._write("w", columns, *([row[c] for c in columns] for row in rows))

    def _kept(self, row, upto_step):
        whole = None not in row.values()  # a kill can leave half a row
        return whole and row["step"].isdigit() and int(row["step"]) <= upto_step

    def _write(self, mode, *rows):
        with open(self.path, mode, newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def add(self, **row):
        values = (row[c] for c in self.columns)
        self._write("a", [f"{v:.6g}" if isinstance(v, float) else v for v in values])


# --- training ----------------------------------------------------------------------------------------------------


def prepare(recipe, files, run, say, init=None, vocabulary=None):
    """Tokenizer and encoded corpus in the run folder; made once, and only used again for the same texts.

    The vocabulary is that of the model to start from, or the one given, or it is trained here. Two trainings agree in
    nearly all wordpieces but not in their order: the trainer breaks ties between equal counts at random.
    """
    from tokenizers import BertWordPieceTokenizer

    settings = {"tokenizer": recipe["tokenizer"], "heldout_every": recipe["data"]["heldout_every"]}
    if init is not None:
        models.require_model(init)
        vocabulary = init / "vocab.txt"
        settings["init"] = data.describe_files([init / "model.safetensors"])
    if vocabulary is not None:
        if not vocabulary.is_file():
            raise PretrainError(f"no vocabulary at {vocabulary}: expected a vocab.txt, one wordpiece a line")
        settings["vocabulary"] = data.describe_files([vocabulary])
    done = run / "corpus" / "corpus.json"
    if not done.exists():
        started = time.time()
        if vocabulary is None:
            say(
                f"training a tokenizer of {recipe['tokenizer']['vocab_size']} wordpieces on {len(files)} files"
            )
            tokenizer = data.train_tokenizer(files, **recipe["tokenizer"])
        else:
            tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        models.save_tokenizer(tokenizer, run / "tokenizer", positions=recipe["model"]["positions"])
        say("encoding the corpus")
        data.encode_corpus(files, tokenizer, run / "corpus", settings)
        say(f"corpus ready after {time.time() - started:.0f} s")
    else:
        before = json.loads(done.read_text(encoding="utf-8"))
        if before["files"] != data.describe_files(files):
            raise PretrainError(
                f"{run} was started on other texts ({', '.join(f['name'] for f in before['files'])}). "
                "Name the same, unchanged files, or choose another --run folder."
            )
        if before["settings"] != settings:
            raise PretrainError(
                f"{run} was started with other settings of the tokenizer, heldout_every, --vocabulary or --init "
                f"({before['settings']}). Put them back, or choose another --run folder."
            )
    tokenizer = BertWordPieceTokenizer(str(run / "tokenizer" / "vocab.txt"), lowercase=True)
    return data.load_corpus(run / "corpus"), tokenizer.get_vocab_size()


def check_recipe_on_resume(before, now, phase_number, phase_tokens=0):
    """What has been trained cannot be changed afterwards; phases not yet begun can, and the length of one at a constant rate."""
    fixed = {k: v for k, v in before.items() if k != "phases"}
    same = fixed == {k: v for k, v in now.items() if k != "phases"}
    begun = phase_number + 1
    old, new = before["phases"][:begun], now["phases"][:begun]
    if len(old) == len(new) == begun and all(_steady(p, phase_tokens) for p in (old[-1], new[-1])):
        old[-1] = {**old[-1], "tokens": new[-1]["tokens"]}
    if not same or old != new:
        raise PretrainError(
            f"the recipe was changed where this run has already used it (phases 1-{begun} and the sections before "
            "them). Put it back, or start afresh in another --run folder. Later phases may be changed, and the tokens of "
            "a phase whose floor is 1."
        )


def _steady(phase, tokens):
    """Whether the learning rate of a phase stays as it is after ``tokens``, however long the phase is."""
    return phase["floor"] == 1 and tokens >= phase["warmup"] * phase["tokens"]


class Run:
    """One run folder: the corpus, the counters, the tables, and the loop over phases, shards and batches.

    Everything random is derived from the seed and the counters, so the counters (with weights and optimizer state)
    are all there is to save.
    """

    def __init__(self, recipe, files, options):
        """``options`` are those of the command line, as `build_parser` reads them."""
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
        self.recipe, self.options, self.folder = recipe, options, options.run
        folder, init, tokens_before = options.run, options.init, options.tokens_before
        self.device = models.choose_device(options.device)
        self.precision = models.choose_precision(options.precision, self.device)
        self.path = folder / "checkpoint.safetensors"
        folder.mkdir(parents=True, exist_ok=True)
        if tokens_before and init is None:
            raise PretrainError(
                "--tokens-before counts what --init weights have seen; name them, or leave it out"
            )
        self.corpus, self.vocab_size = prepare(recipe, files, folder, self.say, init, options.vocabulary)
        self.n_shards = data.n_shards(self.corpus, recipe["data"]["shard_documents"])
        machine = {
            "device": self.device.type,
            "precision": self.precision,
            "threads": torch.get_num_threads(),
        }
        if self.path.exists():
            self.tensors, state = load_checkpoint(self.path)
            check_recipe_on_resume(state["recipe"], recipe, state["phase"], state["phase_tokens"])
            if state["machine"] != machine:
                self.say(f"note: {state['machine']} before, {machine} now; the last digits will differ")
            self.say(f"resuming at step {state['step']}, {state['tokens']:,} tokens")
        else:
            self.tensors = models.load_weights(init) if init is not None else None
            state = dict.fromkeys(
                ("phase", "step", "tokens", "phase_tokens", "epoch", "shard", "batch", "summed"), 0
            )
            state.update(seconds=0.0, sum_mlm=0.0, sum_nsp=0.0, lr=0.0, tokens=tokens_before)
            if tokens_before and (init / "film.csv").is_file():
                shutil.copyfile(
                    init / "film.csv", folder / "film.csv"
                )  # specimen_report.py --film adds to it
        self.state = {**state, "recipe": recipe, "machine": machine}
        self.log = Table(folder / "log.csv", LOG_COLUMNS, upto_step=state["step"])
        begun = sum(phase["tokens"] for phase in recipe["phases"][: state["phase"]]) + state["phase_tokens"]
        self.total = state["tokens"] - begun + sum(phase["tokens"] for phase in recipe["phases"])
        self.stop_asked = False

    def say(self, text):
        if not self.options.quiet:
            print(text, file=sys.stderr, flush=True)

    def train(self):
        """Train to the end of the recipe, or go on to it; returns the model."""
        from tqdm import tqdm

        def ask(*_):
            self.stop_asked = True

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        interval = 0.5 if sys.stderr.isatty() else 60
        self.bar = tqdm(
            total=self.total,
            initial=self.state["tokens"],
            unit="token",
            unit_scale=True,
            disable=self.options.quiet,
            mininterval=interval,
            maxinterval=interval,
        )
        try:
            while self.state["phase"] < len(self.recipe["phases"]):
                self._start_phase(self.recipe["phases"][self.state["phase"]])
                self._train_phase()
                # The next phase starts from the file, so a run that was never stopped takes the same path.
                self.state.update(phase=self.state["phase"] + 1, phase_tokens=0)
                self._next_shard()
                self._checkpoint()
                self.tensors, _ = load_checkpoint(self.path)
            self._start_phase(self.recipe["phases"][-1])
        finally:
            self.bar.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self.model.eval()

    def _start_phase(self, phase):
        """Model and optimizer of a phase: fresh, as the checkpoint left them, or stacked from a shallower model."""
        self.phase = phase
        self.model = models.build_model(
            self.recipe, phase, vocab_size=self.vocab_size, seed=self.recipe["seed"]
        )
        self.model.to(self.device).train()
        self.optimizer, self.names = models.make_optimizer(self.model, self.recipe)
        if self.tensors is not None:
            weights = {k.removeprefix("model/"): v for k, v in self.tensors.items() if k.startswith("model/")}
            n_layers = 1 + max(int(m[1]) for k in weights if (m := re.search(r"\.layer\.(\d+)\.", k)))
            if n_layers == phase["layers"]:
                restore(self.tensors, self.model, self.optimizer, self.names)
            else:  # AdamW's moments of the old layers say nothing about the stacked model: start them afresh
                names = [name for name, _ in self.model.named_parameters()]
                stacked = models.stack_layers(weights, names, n_layers)
                restore({f"model/{name}": weight for name, weight in stacked.items()}, self.model)
        self.tensors = None

    def _train_phase(self):
        state, phase = self.state, self.phase
        self.say(f"phase {state['phase'] + 1} of {len(self.recipe['phases'])}: {phase['name']}")
        self.saved_at = time.time()
        while True:
            batches = data.shard_batches(
                self.corpus,
                seed=self.recipe["seed"],
                epoch=state["epoch"],
                shard=state["shard"],
                shard_documents=self.recipe["data"]["shard_documents"],
                length=phase["length"],
                batch=phase["batch"],
            )
            for batch in batches[state["batch"] :]:
                started, before = time.time(), state["tokens"]
                self._step(batch)
                state["seconds"] += time.time() - started
                self._report(before)
                if state["phase_tokens"] >= phase["tokens"]:
                    return
                if self.stop_asked or time.time() - self.saved_at > self.options.checkpoint_seconds:
                    self._checkpoint()
                    if self.stop_asked:
                        self.say("stopped and saved; the same command goes on from here")
                        raise SystemExit(130)
            self._next_shard()

    def _step(self, batch):
        """One update of the weights; everything random in it comes from the seed and the step number."""
        import torch

        state, phase, seed = self.state, self.phase, self.recipe["seed"]
        rng = np.random.default_rng([seed, 3, state["step"]])
        masked, targets = data.mask_tokens(batch[0], vocab_size=self.vocab_size, rng=rng, share=phase["mask"])
        torch.manual_seed(int(rng.integers(2**62)))  # dropout
        mlm, nsp = models.losses(
            *models.forward(self.model, batch, masked, targets, self.device, self.precision)
        )
        if not math.isfinite(mlm.item()):
            raise PretrainError(
                f"the loss is {mlm.item()} at step {state['step']}; lower lr in phase {state['phase'] + 1} and "
                "start that phase again from an earlier checkpoint"
            )
        (mlm + phase["nsp"] * nsp).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe["optimizer"]["clip"])
        state["lr"] = learning_rate(phase, state["phase_tokens"])
        for group in self.optimizer.param_groups:
            group["lr"] = state["lr"]
        self.optimizer.step()
        self.model.zero_grad()
        tokens = int((batch[0] != data.PAD).sum())
        state.update(
            step=state["step"] + 1,
            batch=state["batch"] + 1,
            tokens=state["tokens"] + tokens,
            phase_tokens=state["phase_tokens"] + tokens,
            summed=state["summed"] + 1,
            sum_mlm=state["sum_mlm"] + mlm.item(),
            sum_nsp=state["sum_nsp"] + nsp.item(),
        )

    def _report(self, before):
        """Progress bar, log, and at film points the weights."""
        state, phase, n = self.state, self.phase, self.state["summed"]
        self.bar.update(state["tokens"] - before)
        where = {"phase": phase["name"], "step": state["step"], "tokens": state["tokens"]}
        if state["step"] % self.options.log_every == 0:
            self.bar.set_postfix_str(f"masked-LM loss {state['sum_mlm'] / n:.3f}", refresh=False)
            self.log.add(
                **where,
                seconds=round(state["seconds"]),
                mlm_loss=state["sum_mlm"] / n,
                nsp_loss=state["sum_nsp"] / n,
                lr=state["lr"],
            )
            state.update(sum_mlm=0.0, sum_nsp=0.0, summed=0)
        if is_film_point(before, state["tokens"], ratio=self.options.film_ratio):
            models.save_model(
                self.model, self.folder / "tokenizer", self.folder / "film" / f"{state['tokens']:012d}"
            )

    def _next_shard(self):
        state = self.state
        state.update(shard=state["shard"] + 1, batch=0)
        if state["shard"] >= self.n_shards:
            state.update(epoch=state["epoch"] + 1, shard=0)

    def _checkpoint(self):
        save_checkpoint(self.path, self.model, self.optimizer, self.names, self.state)
        self.saved_at = time.time()


def build_parser():
    """The command line; a `Run` takes what it reads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("recipe", type=Path, help="recipe file (TOML)")
    add("texts", type=Path, nargs="+", metavar="TEXT", help=".txt or .txt.gz file, or a folder of them")
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="GLOB",
        help="leave these file names out, e.g. '*_nc*'",
    )
    add(
        "--run",
        type=Path,
        required=True,
        help="working folder: corpus, checkpoint, log; start again to go on",
    )
    add(
        "--vocabulary",
        type=Path,
        metavar="FILE",
        help="use this vocab.txt; without it one is trained, and two trainings differ in a few wordpieces",
    )
    add(
        "--init",
        type=Path,
        metavar="MODEL",
        help="start from this model folder's weights and vocabulary (of the recipe's width) instead of afresh",
    )
    add(
        "--tokens-before",
        type=int,
        default=0,
        metavar="N",
        help="tokens that the --init weights have seen: the counts of log and film go on from there",
    )
    add(
        "--film-ratio",
        type=float,
        default=1.35,
        metavar="R",
        help="the weights are kept whenever the tokens have grown by this factor (default 1.35)",
    )
    add("--out", type=Path, help="where the finished model goes (a transformers folder)")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    add("--threads", type=int, default=0, help="CPU threads (default: torch's choice)")
    add(
        "--checkpoint-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="between checkpoints (default 300)",
    )
    add("--log-every", type=int, default=100, metavar="STEPS", help="steps averaged in a row of log.csv")
    add("--quiet", action="store_true", help="no progress bar and no messages")
    return parser


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    try:
        run = Run(read_recipe(options.recipe), data.text_files(options.texts, options.exclude), options)
        model = run.train()
        if options.out:
            models.save_model(model, options.run / "tokenizer", options.out)
            if options.recipe.resolve() != (options.out / "recipe.toml").resolve():
                shutil.copyfile(options.recipe, options.out / "recipe.toml")
            run.say(f"the model is in {options.out}")
    except PretrainError as error:
        sys.exit(f"pretrain: {error}")


if __name__ == "__main__":
    main()
