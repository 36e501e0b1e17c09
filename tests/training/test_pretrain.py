"""The training tool: what it reads, what it makes of it, and that a killed run ends where an unbroken one ends."""

from __future__ import annotations

import copy
import csv
import gzip
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))
import pretrain
import pretrain_data as data
import pretrain_model as models

RECIPE = """
seed = 3
[tokenizer]
vocab_size = 300
min_frequency = 1
alphabet = 60
[model]
width = 24
heads = 2
feed_forward = 48
positions = 64
[init]
query_key_sd = 0.06
value_output_sd = 0.05
position_scale = 0.03
position_period = 1000
[optimizer]
beta1 = 0.9
beta2 = 0.98
epsilon = 1e-6
weight_decay = 0.01
clip = 1.0
[data]
heldout_every = 5
shard_documents = 3
[[phases]]
name = "shallow"
layers = 1
length = 32
batch = 4
tokens = 3000
lr = 2e-3
warmup = 0.1
floor = 0.5
nsp = 0.0
mask = 0.15
dropout = 0.1
attention_dropout = 0.1
[[phases]]
name = "stacked"
layers = 2
length = 48
batch = 4
tokens = 4000
lr = 1e-3
warmup = 0.1
floor = 0.0
nsp = 0.3
mask = 0.15
dropout = 0.1
attention_dropout = 0.1
"""
WORDS = "the a cat dog girl house river saw took found near under old small red walked home and then it was".split()


def write_corpus(folder, n_documents=20, seed=0):
    """Two files, one packed, of documents whose sentences carry their document's number."""
    choose = random.Random(seed)
    documents = []
    for number in range(n_documents):
        sentences = [
            " ".join(choose.choices(WORDS, k=choose.randint(4, 12))) + f" {number}."
            for _ in range(choose.randint(4, 14))
        ]
        half = len(sentences) // 2
        documents.append([" ".join(sentences[:half]), " ".join(sentences[half:])])
    folder.mkdir(parents=True, exist_ok=True)
    text = ["\n".join(d) for d in documents]
    (folder / "b.txt").write_text("\n\n".join(text[:10]) + "\n", encoding="utf-8")
    with gzip.open(folder / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n\n\n".join(text[10:]))
    return documents


@pytest.fixture
def texts(tmp_path):
    write_corpus(tmp_path / "texts")
    return tmp_path / "texts"


@pytest.fixture
def recipe_path(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder / "texts", n_documents=40)
    files = data.text_files([folder / "texts"])
    tokenizer = data.train_tokenizer(files, vocab_size=300, min_frequency=1, alphabet=60)
    return data.encode_corpus(files, tokenizer, folder / "corpus", {"heldout_every": 5})


# --- reading -----------------------------------------------------------------------------------------------------


def test_documents_end_at_an_empty_line_and_files_come_in_alphabetical_order(tmp_path):
    documents = write_corpus(tmp_path)
    files = data.text_files([tmp_path])
    assert [f.name for f in files] == ["a.txt.gz", "b.txt"]
    assert [d for f in files for d in data.read_documents(f)] == documents[10:] + documents[:10]


def test_files_can_be_left_out_by_name(tmp_path):
    write_corpus(tmp_path)
    assert [f.name for f in data.text_files([tmp_path], ["a*"])] == ["b.txt"]
    with pytest.raises(data.PretrainError, match=r"no text to train on.*not matching \*"):
        data.text_files([tmp_path], ["*"])


def test_unusable_texts_are_named(tmp_path):
    with pytest.raises(data.PretrainError, match="no such file or folder: .*nowhere"):
        data.text_files([tmp_path / "nowhere"])
    (tmp_path / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(data.PretrainError, match=r"latin\.txt is not UTF-8"):
        list(data.read_documents(tmp_path / "latin.txt"))
    (tmp_path / "broken.txt.gz").write_bytes(gzip.compress(b"one line\n" * 99)[:-20])
    with pytest.raises(data.PretrainError, match=r"broken\.txt\.gz is not a whole gzip file"):
        list(data.read_documents(tmp_path / "broken.txt.gz"))


def test_a_text_without_empty_lines_is_explained(tmp_path):
    (tmp_path / "one.txt").write_text("The cat sat. The dog ran.\nIt was old. It slept.\n", encoding="utf-8")
    files = data.text_files([tmp_path])
    tokenizer = data.train_tokenizer(files, vocab_size=60, min_frequency=1, alphabet=60)
    with pytest.raises(data.PretrainError, match="found 1 documents .* an empty line between documents"):
        data.encode_corpus(files, tokenizer, tmp_path / "corpus", {"heldout_every": 0})


def test_the_special_tokens_have_the_ids_the_code_counts_on(texts):
    tokenizer = data.train_tokenizer(data.text_files([texts]), vocab_size=100, min_frequency=1, alphabet=60)
    ids = [tokenizer.token_to_id(token) for token in data.SPECIAL_TOKENS]
    assert ids == [data.PAD, data.UNK, data.CLS, data.SEP, data.MASK]


# --- instances ---------------------------------------------------------------------------------------------------


def instances_of(corpus, length=32, seed=0):
    for document in corpus.train:
        rng = np.random.default_rng([seed, document])
        for instance in data.document_instances(corpus, document, corpus.train, length, rng):
            yield document, *instance


def document_ids(corpus, document):
    first, last = corpus.document_starts[document : document + 2]
    return list(corpus.ids[corpus.sentence_starts[first] : corpus.sentence_starts[last]])


def contains(long, short):
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def test_an_instance_is_cls_a_sep_b_sep(corpus):
    for document, ids, b, is_random in instances_of(corpus):
        ids = list(ids)
        assert len(ids) <= 32
        assert (ids[0], ids[b - 1], ids[-1]) == (data.CLS, data.SEP, data.SEP)
        assert ids.count(data.SEP) == 2
        own = document_ids(corpus, document)
        a, b_ids = ids[1 : b - 1], ids[b:-1]
        assert contains(own, a)
        if not is_random and len(a) < 22:  # a first sentence longer than that is cut
            assert contains(own, a + b_ids), "a true B follows A directly"


def test_a_random_b_comes_from_another_training_document(corpus):
    seen = 0
    for document, ids, b, is_random in instances_of(corpus):
        if is_random:
            homes = [d for d in corpus.train if contains(document_ids(corpus, d), list(ids[b:-1]))]
            assert homes, "B stands in a training document, not in a held-out one"
            assert any(d != document for d in homes)
            seen += 1
    assert seen > 50


def test_length_does_not_give_the_random_pairs_away(corpus):
    lengths = np.array([len(ids) for seed in range(20) for _, ids, _, _ in instances_of(corpus, 48, seed)])
    is_random = np.array([r for seed in range(20) for *_, r in instances_of(corpus, 48, seed)])
    guess = max(((lengths >= t) == is_random).mean() for t in range(lengths.min(), 49))
    assert guess < max(is_random.mean(), 1 - is_random.mean()) + 0.1


def test_held_out_documents_are_never_trained_on(corpus):
    assert sorted([*corpus.train, *corpus.heldout]) == list(range(len(corpus.document_starts) - 1))
    assert len(corpus.heldout) == 8  # every fifth of forty


def test_a_shard_can_be_made_again_from_its_numbers_alone(corpus):
    def make(epoch=0, shard=1):
        return data.shard_batches(
            corpus, seed=0, epoch=epoch, shard=shard, shard_documents=7, length=32, batch=4
        )

    once, again = make(), make()
    assert all(
        np.array_equal(x, y) for a, b in zip(once, again, strict=True) for x, y in zip(a, b, strict=True)
    )
    assert not np.array_equal(once[0][0], make(epoch=1)[0][0])
    assert not np.array_equal(once[0][0], make(shard=2)[0][0])


def test_an_epoch_reads_every_training_document_once(corpus):
    n = data.n_shards(corpus, 7)
    assert n == -(-32 // 7)
    order = np.random.default_rng([0, 1, 0]).permutation(corpus.train)
    assert sorted(d for s in range(n) for d in order[s * 7 : (s + 1) * 7]) == list(corpus.train)
    assert data.shard_batches(corpus, seed=0, epoch=0, shard=n - 1, shard_documents=7, length=32, batch=4)


def test_padding_and_segments():
    ids, segments, is_random = data.pad_batch(
        [(np.array([2, 9, 3, 8, 8, 3]), 3, 1), (np.array([2, 9, 3, 7, 3]), 3, 0)]
    )
    assert ids.tolist() == [[2, 9, 3, 8, 8, 3], [2, 9, 3, 7, 3, 0]]
    assert segments.tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]]
    assert is_random.tolist() == [1, 0]


def test_of_the_masked_tokens_80_percent_become_mask_10_random_10_stay():
    ids = np.full((1000, 100), 7)
    ids[:, 0] = data.CLS
    masked, targets = data.mask_tokens(ids, vocab_size=10_000, rng=np.random.default_rng(0))
    chosen = targets != data.NOT_A_TARGET
    assert not chosen[:, 0].any(), "special tokens are never chosen"
    assert (targets[chosen] == 7).all()
    assert (masked[~chosen] == ids[~chosen]).all()
    n = chosen.sum()
    assert chosen[:, 1:].mean() == pytest.approx(0.15, abs=0.005)
    assert (masked[chosen] == data.MASK).mean() == pytest.approx(0.8, abs=4 * (0.16 / n) ** 0.5)
    assert (masked[chosen] == 7).mean() == pytest.approx(0.1, abs=4 * (0.09 / n) ** 0.5 + 1e-3)
    assert masked.min() >= 2
    assert masked.max() < 10_000


# --- recipe ------------------------------------------------------------------------------------------------------


def test_the_learning_rate_rises_then_falls_to_its_floor():
    phase = {"tokens": 1000, "lr": 2.0, "warmup": 0.2, "floor": 0.25}
    rates = [pretrain.learning_rate(phase, t) for t in (0, 100, 200, 600, 1000, 1100)]
    assert rates == pytest.approx([0.0, 1.0, 2.0, 1.25, 0.5, 0.5])


def test_film_points_are_a_constant_factor_apart():
    points = [t for t in range(1, 200_001) if pretrain.is_film_point(t - 1, t)]
    assert points == [50_000, 67_500, 91_125, 123_019, 166_076]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("width = 24\n", "", r"\[model\]: missing: width"),
        ("width = 24", "width = 24\ndepth = 3", r"\[model\]: unknown: depth"),
        ("width = 24", "width = 24.5", "width must be int, got 24.5"),
        ("width = 24", "width = 26", "multiple of twice the number of heads"),
        ("length = 48", "length = 65", r"phase 2: length must be from 20 to positions \(64\), got 65"),
        ("layers = 1", "layers = 3", "phase 2: 2 layers is no multiple of the 3 before it"),
        ("vocab_size = 300", "vocab_size = 70000", "65536 at most"),
        ("seed = 3", "seed = ", "not valid TOML"),
    ],
)
def test_a_wrong_recipe_is_refused_with_the_reason(tmp_path, old, new, message):
    assert old in RECIPE
    (tmp_path / "r.toml").write_text(RECIPE.replace(old, new), encoding="utf-8")
    with pytest.raises(data.PretrainError, match=message):
        pretrain.read_recipe(tmp_path / "r.toml")


def test_a_missing_recipe_says_where_to_find_one(tmp_path):
    with pytest.raises(data.PretrainError, match=r"no recipe at .* copy data/model/recipe.toml"):
        pretrain.read_recipe(tmp_path / "none.toml")


def test_the_shipped_recipe_is_valid():
    assert pretrain.read_recipe(ROOT / "data" / "model" / "recipe.toml")["phases"]


# --- model -------------------------------------------------------------------------------------------------------


@pytest.fixture
def recipe(recipe_path):
    return pretrain.read_recipe(recipe_path)


def test_positions_start_as_sinusoids_and_queries_wide(recipe):
    model = models.build_model(recipe, recipe["phases"][1], vocab_size=300, seed=0)
    table = model.bert.embeddings.position_embeddings.weight.detach()
    assert table[5, 0].item() == pytest.approx(0.03 * np.sin(5), abs=1e-6)
    assert table[5, 1].item() == pytest.approx(0.03 * np.cos(5), abs=1e-6)
    assert table[7, 22].item() == pytest.approx(0.03 * np.sin(7 * 1000 ** (-22 / 24)), abs=1e-6)
    query = model.bert.encoder.layer[1].attention.self.query.weight
    assert query.std().item() == pytest.approx(0.06, rel=0.15)


def test_stacking_copies_layer_i_mod_n(recipe):
    shallow, deep = (
        models.build_model(recipe, {**recipe["phases"][0], "layers": n}, vocab_size=300, seed=n)
        for n in (2, 4)
    )
    stacked = models.stack_layers(
        dict(shallow.named_parameters()), [n for n, _ in deep.named_parameters()], 2
    )
    for layer in range(4):
        name = "bert.encoder.layer.{}.output.dense.weight"
        assert torch.equal(stacked[name.format(layer)], shallow.get_parameter(name.format(layer % 2)))
    assert set(stacked) == {n for n, _ in deep.named_parameters()}


def test_the_loss_is_that_of_transformers(recipe, corpus):
    model = models.build_model(recipe, recipe["phases"][1], vocab_size=300, seed=0).eval()
    batch = data.shard_batches(corpus, seed=0, epoch=0, shard=0, shard_documents=4, length=40, batch=6)[0]
    masked, targets = data.mask_tokens(batch[0], vocab_size=300, rng=np.random.default_rng(0))
    ours = models.losses(*models.forward(model, batch, masked, targets, torch.device("cpu"), "float32"))
    theirs = model(
        torch.from_numpy(masked),
        attention_mask=torch.from_numpy((batch[0] != data.PAD).astype(int)),
        token_type_ids=torch.from_numpy(batch[1]),
        labels=torch.from_numpy(targets),
        next_sentence_label=torch.from_numpy(batch[2]),
    ).loss
    assert sum(ours).item() == pytest.approx(theirs.item(), rel=1e-5)


def test_a_batch_without_a_target_has_no_loss():
    words = torch.randn(0, 50, requires_grad=True)
    loss = models.losses(words, torch.zeros(0, dtype=int), torch.zeros(1, 2), torch.tensor([0]))[0]
    loss.backward()
    assert loss.item() == 0 and words.grad.count_nonzero() == 0


def test_the_loss_in_bfloat16_is_about_that_in_single_precision(recipe, corpus):
    model = models.build_model(recipe, recipe["phases"][1], vocab_size=300, seed=0).eval()
    with torch.no_grad():
        for layer in model.bert.encoder.layer:  # heads that choose, so that the mask and the scale matter
            layer.attention.self.query.weight.mul_(20)
    batch = data.shard_batches(corpus, seed=0, epoch=0, shard=0, shard_documents=4, length=40, batch=6)[0]
    masked, targets = data.mask_tokens(batch[0], vocab_size=300, rng=np.random.default_rng(0))
    with torch.no_grad():
        single, halved = (
            models.losses(*models.forward(model, batch, masked, targets, torch.device("cpu"), precision))
            for precision in ("float32", "bfloat16")
        )
    assert [x.item() for x in halved] == pytest.approx([x.item() for x in single], rel=0.01)


def test_every_weight_is_trained_and_only_matrices_decay(recipe):
    model = models.build_model(recipe, recipe["phases"][1], vocab_size=300, seed=0)
    optimizer, names = models.make_optimizer(model, recipe)
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    decays = [group["weight_decay"] for group in optimizer.param_groups for _ in group["params"]]
    assert [decay > 0 for decay in decays] == [model.get_parameter(name).ndim >= 2 for name in names]


def test_an_infinite_weight_is_not_shipped(recipe, tmp_path):
    model = models.build_model(recipe, recipe["phases"][0], vocab_size=300, seed=0)
    with torch.no_grad():
        model.bert.pooler.dense.weight[0, 0] = 1e6  # past the largest half-precision number
    with pytest.raises(data.PretrainError, match="infinite .* in half precision"):
        models.save_model(model, tmp_path, tmp_path / "out")


# --- a run ---------------------------------------------------------------------------------------------------------


def a_run(recipe, texts, folder, **options):
    """A run in this process, on the processor."""
    words = f"recipe.toml {texts} --run {folder} --quiet --precision float32 --device cpu".split()
    given = pretrain.build_parser().parse_args(words)
    for name, value in options.items():
        setattr(given, name, value)
    return pretrain.Run(recipe, data.text_files([texts]), given)


def command(recipe_path, texts, run, out):
    return [
        sys.executable,
        str(ROOT / "training" / "pretrain.py"),
        *map(str, (recipe_path, texts, "--run", run, "--out", out)),
        *"--threads 1 --checkpoint-seconds 0 --log-every 5 --device cpu --precision float32".split(),
    ]


def read_csv(path, *ignored):
    with open(path, newline="", encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if k not in ignored} for row in csv.DictReader(file)]


def steps_logged(log):
    """The last whole row's step; a running process may be writing the next one."""
    rows = [r for r in log.read_text(encoding="utf-8").split("\n")[1:-1] if r] if log.exists() else []
    return int(rows[-1].split(",")[1]) if rows else 0


def test_a_killed_run_ends_with_the_weights_of_an_unbroken_one(tmp_path, finished):
    whole = load_file(finished / "out" / "model.safetensors")
    last = pretrain.load_checkpoint(finished / "run" / "checkpoint.safetensors")
    n_steps = last[1]["step"]

    # Both runs read the same ids: two trainings of a tokenizer break ties differently and give different wordpieces.
    for folder in ("tokenizer", "corpus"):
        shutil.copytree(finished / "run" / folder, tmp_path / "broken" / folder)
    broken = command(
        finished / "recipe.toml", finished / "texts", tmp_path / "broken", tmp_path / "broken-out"
    )
    checkpoint = tmp_path / "broken" / "checkpoint.safetensors"
    stopped_at = []
    for share in (0.2, 0.75):  # once in each phase: without warning, then politely
        process = subprocess.Popen(broken, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and steps_logged(tmp_path / "broken" / "log.csv") < share * n_steps:
            time.sleep(0.005)
        polite = share > 0.5 and sys.platform != "win32"
        process.send_signal(signal.SIGTERM) if polite else process.kill()
        assert process.wait() != 0, "the run was over before it could be stopped"
        stopped_at.append(pretrain.load_checkpoint(checkpoint)[1]["step"])
    assert 0 < stopped_at[0] < stopped_at[1] < n_steps
    subprocess.run(broken, check=True, capture_output=True)

    resumed = load_file(tmp_path / "broken-out" / "model.safetensors")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    now = pretrain.load_checkpoint(checkpoint)
    assert all(torch.equal(last[0][name], now[0][name]) for name in last[0]), (
        "optimizer state, in full precision"
    )
    logs = [read_csv(run / "log.csv", "seconds") for run in (finished / "run", tmp_path / "broken")]
    assert logs[0] == logs[1] and logs[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished tiny run: (run folder, model folder, recipe, texts)."""
    folder = tmp_path_factory.mktemp("finished")
    write_corpus(folder / "texts")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    threads = torch.get_num_threads()
    pretrain.main(
        command(folder / "recipe.toml", folder / "texts", folder / "run", folder / "out")[2:] + ["--quiet"]
    )
    torch.set_num_threads(threads)
    return folder


def test_the_result_is_an_ordinary_transformers_folder(finished):
    from transformers import AutoTokenizer, BertForPreTraining, BertTokenizer

    model, report = BertForPreTraining.from_pretrained(finished / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.config.num_hidden_layers == 2
    assert {w.dtype for w in load_file(finished / "out" / "model.safetensors").values()} == {torch.float16}
    tokenizer = AutoTokenizer.from_pretrained(finished / "out")
    assert isinstance(tokenizer, BertTokenizer)
    assert tokenizer("The cat", "a dog").tokens()[0] == "[CLS]"
    assert tokenizer.model_max_length == 64
    assert (finished / "out" / "recipe.toml").read_text(encoding="utf-8") == RECIPE
    assert not list(finished.rglob("*.pt")) + list(finished.rglob("*.bin")) + list(finished.rglob("*.pkl"))


def test_the_log_counts_tokens_and_the_loss_falls(finished):
    rows = read_csv(finished / "run" / "log.csv")
    assert [r["phase"] for r in rows] == sorted(r["phase"] for r in rows), "shallow, then stacked"
    tokens = [int(r["tokens"]) for r in rows]
    assert tokens == sorted(tokens)
    assert 6500 < tokens[-1] < 7500
    assert float(rows[-1]["mlm_loss"]) < float(rows[0]["mlm_loss"]) < np.log(300) + 0.5


def test_a_finished_run_started_again_trains_nothing_and_writes_the_same_model(finished, tmp_path):
    recipe = pretrain.read_recipe(finished / "recipe.toml")
    run = a_run(recipe, finished / "texts", finished / "run", threads=torch.get_num_threads())
    models.save_model(run.train(), finished / "run" / "tokenizer", tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == (
        finished / "out" / "model.safetensors"
    ).read_bytes()


def test_other_texts_or_another_recipe_in_the_same_run_folder_are_refused(finished, tmp_path, capsys):
    def complaint(recipe_text=RECIPE, texts=finished / "texts"):
        (tmp_path / "recipe.toml").write_text(recipe_text, encoding="utf-8")
        with pytest.raises(SystemExit) as stop:
            pretrain.main(
                [*map(str, (tmp_path / "recipe.toml", texts, "--run", finished / "run")), "--quiet"]
            )
        return str(stop.value)

    write_corpus(tmp_path / "other", seed=1)
    assert "was started on other texts (a.txt.gz, b.txt)" in complaint(texts=tmp_path / "other")
    assert "other settings of the tokenizer, heldout_every" in complaint(
        RECIPE.replace("heldout_every = 5", "heldout_every = 4")
    )
    assert "recipe was changed where this run has already used it" in complaint(
        RECIPE.replace("seed = 3", "seed = 4")
    )
    assert complaint(RECIPE.replace("lr = 1e-3", "lr = 2e-3")).startswith("pretrain: the recipe was changed")


def test_only_phases_not_yet_begun_can_be_changed(recipe):
    later, earlier = copy.deepcopy(recipe), copy.deepcopy(recipe)
    later["phases"][1]["tokens"] = 9999
    earlier["phases"][0]["tokens"] = 9999
    pretrain.check_recipe_on_resume(recipe, later, 0)
    with pytest.raises(data.PretrainError, match="phases 1-1"):
        pretrain.check_recipe_on_resume(recipe, earlier, 0)
    with pytest.raises(data.PretrainError, match="phases 1-2"):
        pretrain.check_recipe_on_resume(recipe, later, 1)


def test_a_broken_checkpoint_is_named(tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"half a file")
    with pytest.raises(data.PretrainError, match=r"checkpoint\.safetensors cannot be read .* remove it"):
        pretrain.load_checkpoint(tmp_path / "checkpoint.safetensors")


def test_half_a_row_at_the_end_of_a_log_is_dropped(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("step,tokens\n3,30\n6,60\n9,90\n12", encoding="utf-8")
    pretrain.Table(path, ("step", "tokens"), upto_step=6).add(step=9, tokens=0.5)
    assert path.read_text(encoding="utf-8") == "step,tokens\n3,30\n6,60\n9,0.5\n"


def test_a_gpu_that_is_not_there_is_not_promised():
    if torch.cuda.is_available():
        assert models.choose_device("auto").type == "cuda"
    else:
        assert models.choose_device("auto").type == "cpu"
        with pytest.raises(data.PretrainError, match="torch sees no GPU"):
            models.choose_device("cuda")


def test_the_corpus_is_described_without_its_text(finished):
    described = json.loads((finished / "run" / "corpus" / "corpus.json").read_text(encoding="utf-8"))
    assert [f["name"] for f in described["files"]] == ["a.txt.gz", "b.txt"]
    assert described["documents"] == 20


def test_a_run_can_start_from_a_model(finished, tmp_path):
    recipe = pretrain.read_recipe(finished / "recipe.toml")
    run = a_run(recipe, finished / "texts", tmp_path / "run", init=finished / "out")
    run._start_phase(run.recipe["phases"][1])
    weights = load_file(finished / "out" / "model.safetensors")
    assert all(torch.equal(p, weights[n].float()) for n, p in run.model.named_parameters())
    vocabulary = [
        (f / "vocab.txt").read_text(encoding="utf-8")
        for f in (finished / "out", tmp_path / "run" / "tokenizer")
    ]
    assert vocabulary[0] == vocabulary[1]
    with pytest.raises(data.PretrainError, match="--vocabulary or --init"):
        a_run(run.recipe, finished / "texts", tmp_path / "run")
    with pytest.raises(data.PretrainError, match="has no model.safetensors"):
        models.load_weights(tmp_path)


def test_a_vocabulary_can_be_given(finished, texts, tmp_path):
    vocabulary = finished / "out" / "vocab.txt"
    recipe = pretrain.read_recipe(finished / "recipe.toml")
    a_run(recipe, texts, tmp_path / "run", vocabulary=vocabulary)
    assert (tmp_path / "run" / "tokenizer" / "vocab.txt").read_bytes() == vocabulary.read_bytes()
    ids = [np.load(folder / "corpus" / "ids.npy") for folder in (finished / "run", tmp_path / "run")]
    assert np.array_equal(*ids), "the same texts and vocabulary give the same ids"
    with pytest.raises(data.PretrainError, match="no vocabulary at"):
        a_run(recipe, texts, tmp_path / "other", vocabulary=tmp_path / "no.txt")


# --- further trainings --------------------------------------------------------------------------------------------


def test_the_counts_go_on_from_the_first_weights(finished, tmp_path):
    recipe = pretrain.read_recipe(finished / "recipe.toml")
    run = a_run(recipe, finished / "texts", tmp_path / "run", init=finished / "out", tokens_before=7000)
    run.train()
    assert run.state["tokens"] > run.total == 14_000
    points = sorted(int(p.name) for p in (tmp_path / "run" / "film").glob("*"))
    assert not points, "50,000 tokens is the first film point"


def test_a_phase_sets_its_share_of_masks(recipe, texts, tmp_path):
    assert recipe["phases"][0]["mask"] == 0.15
    recipe["phases"][0]["mask"] = 0.5
    run = a_run(recipe, texts, tmp_path / "run")
    run._start_phase(recipe["phases"][0])
    shares, forward = [], models.forward

    def look(model, batch, masked, targets, *rest):
        shares.append((targets != data.NOT_A_TARGET).sum() / (batch[0] >= len(data.SPECIAL_TOKENS)).sum())
        return forward(model, batch, masked, targets, *rest)

    batches = data.shard_batches(run.corpus, seed=3, epoch=0, shard=0, shard_documents=3, length=32, batch=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "forward", look)
        for batch in batches[:5]:
            run._step(batch)
    assert np.mean(shares) == pytest.approx(0.5, abs=0.1)


def test_a_phase_at_a_constant_rate_may_end_earlier(recipe):
    steady = copy.deepcopy(recipe)
    steady["phases"][0].update(floor=1.0)
    shorter = copy.deepcopy(steady)
    shorter["phases"][0]["tokens"] = 1500
    pretrain.check_recipe_on_resume(steady, shorter, 0, phase_tokens=1000)
    refused = pytest.raises(data.PretrainError, match="already used it")
    with refused:  # the rate is still rising
        pretrain.check_recipe_on_resume(steady, shorter, 0, phase_tokens=200)
    with refused:  # the phase lies behind
        pretrain.check_recipe_on_resume(steady, shorter, 1, phase_tokens=1000)
    with refused:  # its rate falls, so its length was used from the first step on
        falling = copy.deepcopy(recipe)
        falling["phases"][0]["tokens"] = 1500
        pretrain.check_recipe_on_resume(recipe, falling, 0, phase_tokens=1000)
    with refused:
        shorter["phases"][0]["lr"] = 1.0
        pretrain.check_recipe_on_resume(steady, shorter, 0, phase_tokens=1000)


def test_the_second_recipe_goes_on_from_the_first_past_200_million_tokens_and_ends_at_zero():
    shipped, long = (
        pretrain.read_recipe(ROOT / path)
        for path in ("data/model/recipe.toml", "data/model/recipe_second.toml")
    )
    assert all(long[section] == shipped[section] for section in ("tokenizer", "model", "data"))
    read = [sum(phase["tokens"] for phase in recipe["phases"]) for recipe in (shipped, long)]
    assert read[0] == 45_000_000 and sum(read) >= 200_000_000
    assert pretrain.learning_rate(long["phases"][-1], long["phases"][-1]["tokens"]) == 0
    assert all(phase["floor"] == 1 for phase in long["phases"][:-1])
    assert long["phases"][-1]["length"] == 128 and long["phases"][-1]["attention_dropout"] > 0


def test_tokens_before_need_the_weights_that_read_them(recipe, texts, tmp_path):
    with pytest.raises(data.PretrainError, match="name them, or leave it out"):
        a_run(recipe, texts, tmp_path / "run", tokens_before=7)


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout"])
def test_dropout_is_there_in_training_alone(recipe, corpus, kind):
    phase = {**recipe["phases"][1], "dropout": 0.0, "attention_dropout": 0.0, kind: 0.5}
    model = models.build_model(recipe, phase, vocab_size=300, seed=0)
    batch = data.shard_batches(corpus, seed=0, epoch=0, shard=0, shard_documents=4, length=40, batch=6)[0]
    masked, targets = data.mask_tokens(batch[0], vocab_size=300, rng=np.random.default_rng(0))

    def words(seed):
        torch.manual_seed(seed)
        return models.forward(model, batch, masked, targets, torch.device("cpu"), "float32")[0]

    assert not torch.allclose(words(0), words(1))
    model.eval()
    assert torch.equal(words(0), words(1))
