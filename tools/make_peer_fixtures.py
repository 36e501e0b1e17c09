"""Write tests/peers/*.npz anew: what other people's code gives for the same numbers, texts and weights.

    python3 -m venv peers
    peers/bin/pip install torch==2.13.0 transformers==5.23.0 scipy scikit-learn statsmodels networkx \\
        transformer-lens==4.3.0 bertviz==1.4.1 ipython six regex sentencepiece
    peers/bin/python tools/make_peer_fixtures.py

Nothing of bertlook is imported here, so that both sides cannot share a mistake. The tests of tests/peers hold the package to these
numbers, without the peers' code. After the specimen was trained anew, or for other versions of the peers, run this again.

Peers that are notebooks or scripts without a release (Clark et al., Kobayashi et al., Abnar and Zuidema) are not run here: `formulas` computes what
their code computes a second time, written from the papers and in loops, with no line of theirs. Michel et al. are in tests/analyses/ablation.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import types
from importlib.metadata import version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "peers"
SPECIMEN = ROOT / "data" / "model"

PAIR = ("The cat sat on the unreal mat.", "It slept.")
SHORT = "She did not buy the book."


def statistics() -> dict:
    """scipy, scikit-learn and statsmodels on drawn numbers; the inputs are kept beside the answers."""
    import pandas as pd
    from scipy import stats
    from scipy.cluster.hierarchy import cut_tree, leaves_list, linkage
    from scipy.spatial import distance, procrustes
    from sklearn import metrics
    from sklearn.manifold import MDS
    from statsmodels.api import OLS, add_constant
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(0)
    found = {}
    maps = rng.dirichlet(np.full(7, 0.4), (2, 3, 7)).astype(np.float64)  # layer, head, query, key
    heads = maps.reshape(6, 7, 7)
    found["js maps"] = maps
    found["js"] = np.array(
        [[sum(distance.jensenshannon(p, q) ** 2 for p, q in zip(a, b)) / 7 for b in heads] for a in heads]
    )
    points, other = rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
    matrix = distance.squareform(distance.pdist(points))
    joins = linkage(distance.pdist(points), "average")
    found |= {"points": points, "other points": other, "distances": matrix, "linkage": joins}
    found |= {"leaves": leaves_list(joins), "cut into 4": cut_tree(joins, 4)[:, 0]}
    found["disparity"] = procrustes(points, other)[2]
    scaled = MDS(
        2,
        n_init=100,
        init="random",
        max_iter=1000,
        eps=1e-12,
        metric="precomputed",
        metric_mds=True,
        normalized_stress=False,
        random_state=0,
    )
    plane = scaled.fit(matrix).embedding_
    found["raw stress"] = ((distance.pdist(plane) - distance.pdist(points)) ** 2).sum()

    gold, answers = (rng.choice(list("abc"), 60, p=p) for p in ((0.6, 0.3, 0.1), (0.5, 0.3, 0.2)))
    answers = np.where(rng.random(60) < 0.5, gold, answers)
    found |= {"gold": gold, "answers": answers, "kappa": metrics.cohen_kappa_score(gold, answers)}
    found["macro f1"] = metrics.f1_score(gold, answers, average="macro")
    found["binary gold"], found["binary answers"] = gold == "a", answers == "a"
    found["matthews"] = metrics.matthews_corrcoef(gold == "a", answers == "a")
    scores = rng.integers(0, 9, 60).astype(float)  # with ties
    found |= {"scores": scores, "auc": metrics.roc_auc_score(gold == "a", scores)}
    x, y, z = (rng.integers(0, 15, 40).astype(float) for _ in range(3))
    y += x
    ranks = pd.DataFrame({"x": x, "y": y, "z": z}).rank()
    left = [OLS(ranks[name], add_constant(ranks["z"])).fit().resid for name in "xy"]
    found |= {"x": x, "y": y, "z": z, "partial rho": stats.pearsonr(*left).statistic}
    found |= {"rho": stats.spearmanr(x, y).statistic}
    found["paired t"] = stats.ttest_rel(y, x).pvalue
    right, wrong = rng.random(80) < 0.7, rng.random(80) < 0.5
    table = [
        [(right & wrong).sum(), (right & ~wrong).sum()],
        [(~right & wrong).sum(), (~right & ~wrong).sum()],
    ]
    found |= {"before": right, "after": wrong, "mcnemar": mcnemar(table, exact=True).pvalue}
    p = rng.random(20) ** 3
    return found | {"p": p, "holm": multipletests(p, method="holm")[1]}


def flows() -> dict:
    """networkx: maximum flow through layers of tokens joined by half a map and half the residual connection."""
    import networkx as nx

    maps = np.random.default_rng(1).dirichlet(np.full(5, 0.5), (3, 5))
    maps[1, 2] = [0, 0, 1, 0, 0]
    mixing = (maps + np.eye(5)) / 2
    graph = nx.DiGraph()
    for layer, matrix in enumerate(mixing):
        for (query, key), width in np.ndenumerate(matrix):
            graph.add_edge((layer + 1, query), (layer, key), capacity=float(width))
    flow = np.array(
        [
            [[nx.maximum_flow_value(graph, (layer, i), (0, j)) for j in range(5)] for i in range(5)]
            for layer in (1, 2, 3)
        ]
    )
    return {"maps": maps, "flow": flow / flow.sum(axis=-1, keepdims=True)}


def encoded(tokenizer, *texts):
    return tokenizer(*texts, return_tensors="pt")


def few(logits) -> np.ndarray:
    """Every 64th word of the vocabulary is enough."""
    return logits[0, :, ::64].detach().numpy()


def transformers_own(*, vectors: bool = False) -> dict:
    """transformers: attention, vectors and guesses of the specimen as AutoModel gives them."""
    import torch
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(SPECIMEN)
    inputs = encoded(tokenizer, *PAIR)
    options = {"attn_implementation": "eager", "dtype": torch.float32}
    model = AutoModel.from_pretrained(SPECIMEN, **options).eval()
    guesser = AutoModelForMaskedLM.from_pretrained(SPECIMEN, **options).eval()
    with torch.no_grad():
        out = model(**inputs, output_attentions=True, output_hidden_states=True)
        logits = guesser(**inputs).logits
    return {
        "tokens": np.array(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])),
        "maps": torch.cat(out.attentions).numpy(),
        "last vectors": out.last_hidden_state[0].numpy(),
        "logits": few(logits),
    } | ({"vectors": torch.cat(out.hidden_states).numpy()} if vectors else {})


def transformer_lens() -> dict:
    """TransformerLens: patterns and guesses of the specimen, and the guesses with each head's output z set to 0 by a hook."""
    import torch
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoTokenizer

    bridge = TransformerBridge.boot_transformers(str(SPECIMEN), device="cpu", dtype=torch.float32)
    inputs = encoded(AutoTokenizer.from_pretrained(SPECIMEN), *PAIR)
    run = {"token_type_ids": inputs["token_type_ids"]}
    layers, heads = bridge.cfg.n_layers, bridge.cfg.n_heads
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(inputs["input_ids"], **run)
        off = np.zeros((layers, heads, logits.shape[1]))
        for layer, head in np.ndindex(layers, heads):

            def silence(z, hook, head=head):
                z = z.clone().view(*z.shape[:2], heads, -1) if z.ndim == 3 else z.clone()
                z[:, :, head] = 0
                return z

            hooked = bridge.run_with_hooks(
                inputs["input_ids"], fwd_hooks=[(f"blocks.{layer}.attn.hook_z", silence)], **run
            )
            off[layer, head] = (hooked - logits)[0].abs().amax(-1).numpy()
    maps = np.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0].numpy() for layer in range(layers)])
    return {"maps": maps, "logits": few(logits), "largest change of a guess": off.astype(np.float32)}


def bertviz() -> dict:
    """BertViz: queries, keys and maps of its neuron view, from its own copy of BERT."""
    import torch
    from safetensors.torch import load_file

    sys.modules["boto3"] = types.ModuleType("boto3")  # it asks for them only to download
    sys.modules["botocore"], exceptions = (
        types.ModuleType("botocore"),
        types.ModuleType("botocore.exceptions"),
    )
    sys.modules["botocore.exceptions"] = exceptions
    sys.modules["botocore.config"] = config = types.ModuleType("botocore.config")
    exceptions.ClientError, config.Config = Exception, object
    from bertviz.neuron_view import get_attention
    from bertviz.transformers_neuron_view import BertModel
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        weights = {name: w.float() for name, w in load_file(SPECIMEN / "model.safetensors").items()}
        torch.save(weights, Path(folder, "pytorch_model.bin"))
        Path(folder, "config.json").write_text((SPECIMEN / "config.json").read_text())
        model = BertModel.from_pretrained(folder, output_attentions=True)
    with torch.no_grad():
        found = get_attention(
            model, "bert", AutoTokenizer.from_pretrained(SPECIMEN), SHORT, include_queries_and_keys=True
        )["all"]
    return {"maps": np.array(found["attn"], np.float32)} | {
        name: np.array(found[name], np.float32) for name in ("queries", "keys")
    }


def formulas() -> dict:
    """NumPy and safetensors alone: the formulas of Abnar and Zuidema (2020, section 3), Kobayashi et al. (2020, section 3) and Clark et al. (2019,
    sections 3 and 6), each as a sum written out, on the maps and vectors that transformers gives for the specimen.

    With the settings of the released code: residual one half and rows divided by their sum; the value bias counts and the output bias does not;
    rows smoothed by .0001 for entropies and by .001 for divergences, whose sum is over all rows; [SEP]'s own attention divided by the two [SEP]s.
    """
    from itertools import pairwise, product

    from safetensors.numpy import load_file

    given = transformers_own(vectors=True)
    maps, tokens = given["maps"].astype(float), given["tokens"].tolist()
    layers, heads, n = maps.shape[:3]
    short = maps[:4, :, :6, :6]
    short = short / short.sum(axis=-1, keepdims=True)
    rollout = np.zeros((4, 6, 6))
    for top in range(4):  # what arrives: over all ways down, the product of what each step passes on
        for way in product(range(6), repeat=top + 2):
            passed = 1.0
            for layer, (to, at) in zip(range(top, -1, -1), pairwise(way)):
                passed *= 0.5 * sum(short[layer, h, to, at] for h in range(heads)) / heads + 0.5 * (to == at)
            rollout[top, way[0], way[-1]] += passed

    weights = {name: w.astype(float) for name, w in load_file(SPECIMEN / "model.safetensors").items()}
    width = weights["bert.embeddings.word_embeddings.weight"].shape[1]
    size = width // heads
    norms, weighted = np.zeros((layers, heads, n)), np.zeros(maps.shape)
    together = np.zeros((layers, n, n))
    for layer in range(layers):
        block = f"bert.encoder.layer.{layer}.attention."
        values = (
            given["vectors"][layer] @ weights[block + "self.value.weight"].T
            + weights[block + "self.value.bias"]
        )
        for query, key in product(range(n), repeat=2):
            added = np.zeros(width)
            for head in range(heads):
                own = np.zeros(width)  # the head's part of the concatenated contexts, all other heads silent
                own[head * size : (head + 1) * size] = values[key, head * size : (head + 1) * size]
                vector = weights[block + "output.dense.weight"] @ own
                norms[layer, head, key] = np.sqrt((vector**2).sum())
                weighted[layer, head, query, key] = np.sqrt(
                    ((maps[layer, head, query, key] * vector) ** 2).sum()
                )
                added += maps[layer, head, query, key] * vector
            together[layer, query, key] = np.sqrt((added**2).sum())

    wanted = {
        "self": lambda i, j: i == j,
        "next": lambda i, j: j == i + 1,
        "previous": lambda i, j: j == i - 1,
        "cls": lambda i, j: tokens[j] == "[CLS]",
        "sep": lambda i, j: tokens[j] == "[SEP]",
        "punct": lambda i, j: tokens[j] in (".", ","),
        "sep to sep": lambda i, j: tokens[i] == tokens[j] == "[SEP]",
        "others to sep": lambda i, j: tokens[i] != "[SEP]" == tokens[j],
    }
    rows = {"sep to sep": tokens.count("[SEP]"), "others to sep": n - tokens.count("[SEP]")}
    found = {
        f"share {name}": sum(maps[..., i, j] for i, j in product(range(n), repeat=2) if holds(i, j))
        / rows.get(name, n)
        for name, holds in wanted.items()
    }
    even = 0.9999 * maps + 0.0001 / n
    entropies = -(even * np.log(even)).sum(axis=-1)
    found |= {"entropy": entropies.mean(axis=-1), "entropy from cls": entropies[..., 0]}
    flat = 0.999 * maps.reshape(-1, n, n) + 0.001 / n
    divergence = np.zeros((len(flat), len(flat)))
    for one, p in enumerate(flat):
        for other, q in enumerate(flat):
            m = (p + q) / 2
            divergence[one, other] = (p * np.log(p / m) + q * np.log(q / m)).sum() / 2
    small = {
        "norms": norms,
        "weighted norms": weighted,
        "summed norms": together,
        "divergence": divergence,
    } | found
    return {"short maps": short, "rollout": rollout} | {
        name: value.astype(np.float32) for name, value in small.items()
    }


PEERS = {
    "formulas": (formulas, ("numpy", "transformers", "torch")),
    "statistics": (statistics, ("scipy", "scikit-learn", "statsmodels")),
    "flows": (flows, ("networkx",)),
    "transformers": (transformers_own, ("transformers", "torch")),
    "transformer_lens": (transformer_lens, ("transformer-lens", "transformers", "torch")),
    "bertviz": (bertviz, ("bertviz", "torch")),
}


def main(names) -> None:
    about_file = OUT / "about.json"
    about = json.loads(about_file.read_text()) if about_file.exists() else {}
    for name in names or PEERS:
        make, packages = PEERS[name]
        np.savez_compressed(OUT / f"{name}.npz", **make())
        weights = hashlib.sha256((SPECIMEN / "model.safetensors").read_bytes()).hexdigest()
        about[name] = {
            "command": f"python tools/make_peer_fixtures.py {name}",
            "python": sys.version.split()[0],
        }
        about[name] |= {package: version(package) for package in packages}
        about[name] |= (
            {"specimen": weights[:16]} if "torch" in packages else {}
        )  # the others read drawn numbers
    about_file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
