"""Write tests/peers/*.npz anew: what other people's code gives for the same texts and weights.

    python3 -m venv peers
    peers/bin/pip install torch==2.13.0 transformers==5.23.0 transformer-lens==4.3.0 bertviz==1.4.1 ipython six regex sentencepiece
    peers/bin/python tools/make_peer_fixtures.py

Nothing of bertlook is imported here, so that both sides cannot share a mistake. The tests of tests/peers hold the package to these
numbers, without the peers' code; transformers, SciPy, scikit-learn and networkx they ask themselves.
After the specimen was trained anew, or for other versions of the peers, run this again.

Peers that are notebooks or scripts without a release (Clark et al., Kobayashi et al., Abnar and Zuidema, Michel et al.) are not run here: the tests of
their measures compute a second time what the papers say.
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


def transformer_lens() -> dict:
    """TransformerLens: patterns and guesses of the specimen, and the guesses with each head's output z set to 0 by a hook."""
    import torch
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoTokenizer

    bridge = TransformerBridge.boot_transformers(str(SPECIMEN), device="cpu", dtype=torch.float32)
    inputs = AutoTokenizer.from_pretrained(SPECIMEN)(*PAIR, return_tensors="pt")
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
    few = logits[0, :, ::64].numpy()  # every 64th word of the vocabulary is enough
    return {"maps": maps, "logits": few, "largest change of a guess": off.astype(np.float32)}


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


PEERS = {
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
        about[name]["specimen"] = weights[:16]
    about_file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
