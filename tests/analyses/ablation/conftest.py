"""Encoders that the tests of ablation share."""

import pytest
from tiny import FAMILIES, save_tiny_model

from bertlook_teach.model import load_encoder


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """One tiny encoder of each family."""
    folder = tmp_path_factory.mktemp("families")
    return {family: load_encoder(save_tiny_model(folder / family, family)) for family in FAMILIES}


@pytest.fixture(scope="module")
def bert(encoders):
    return encoders["bert"]
