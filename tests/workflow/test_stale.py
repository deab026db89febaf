"""What a change makes again: exactly what depends on it, and nothing else."""

import pytest

from tests.workflow import small

MU_EFF = [attack for attack in small.ATTACKS if attack.endswith("mu_eff")]
TABLES = {
    ("table", "results/tables/table2.csv"),
    ("table", "results/tables/table4.csv"),
    ("canaries", "results/tables/canaries.csv"),
}


def cells(rule, file, attacks=small.ATTACKS):
    return {
        (rule, f"results/small/A/all-MiniLM-L6-v2/{attack}/canary-0/{file}") for attack in attacks
    }


AUDITS = cells("audit", "audit.json") | TABLES
ACCOUNT = {("account", "results/accounting.json")}
PROBES = cells("probes", "contributions.npz") | AUDITS
ROUTES = {("route", "results/small/A/all-MiniLM-L6-v2/routes.npz")} | PROBES


def embed(*texts):
    return {("embed", f"results/small/embeddings/all-MiniLM-L6-v2/{name}.npy") for name in texts}


NONCES = {("nonces", "results/small/nonces.parquet")} | embed("nonces", "pool-nonce") | ROUTES
BANK = {("bank", "results/small/banks/A.parquet")} | embed("bank-A") | ROUTES
CODE = [
    ("pe_core/kernels/topk.py", ROUTES),
    ("pe_core/kernels/greedy.py", PROBES),
    ("pe_core/kernels/sampling.py", AUDITS),
    ("pe_core/contribution.py", PROBES),
    ("pe_core/bounds.py", AUDITS),
    ("pe_core/text/nonce.py", NONCES),
    ("workflow/scripts/audits.py", AUDITS),
    ("workflow/scripts/bank.py", BANK),
    ("workflow/scripts/route.py", ROUTES),
    ("workflow/scripts/audit.py", AUDITS),
    ("workflow/scripts/table.py", {job for job in TABLES if job[0] == "table"}),
    ("workflow/scripts/dpsgd_game.py", set()),
    ("pe_core/evolution/__init__.py", set()),
]


@pytest.mark.parametrize(("file", "expected"), CODE, ids=[file for file, _ in CODE])
def test_an_edited_file_makes_its_users_again(copy, file, expected):
    path = copy / file
    path.write_text(path.read_text() + "\nunheard_of = 1\n")
    assert small.planned(copy) == expected


SETTINGS = [
    (("mechanism", "clip", 0.2), PROBES | ACCOUNT),
    (
        ("mechanism", "participation", 0.2),
        cells("probes", "contributions.npz", MU_EFF) | AUDITS | ACCOUNT,
    ),
    (("evaluation", "trials", 30000), AUDITS),
    (("bank", "probes", 3), ROUTES),
]


@pytest.mark.parametrize(("setting", "expected"), SETTINGS, ids=[s[1] for s, _ in SETTINGS])
def test_a_changed_setting_makes_its_users_again(copy, setting, expected):
    section, key, value = setting
    config = small.get_config(copy)
    config.setdefault(section, {})[key] = value
    small.set_config(copy, config)
    assert small.planned(copy) == expected


def test_a_changed_default_makes_its_users_again(copy):
    path = copy / "workflow/schemas/config.schema.yaml"
    text = path.read_text()
    at = text.index("shrinkage:")
    path.write_text(text[:at] + text[at:].replace("default: 0.1", "default: 0.2", 1))
    assert small.planned(copy) == cells("probes", "contributions.npz", MU_EFF) | AUDITS


def test_remarks_make_nothing_again(copy):
    for file in (
        "pe_core/kernels/topk.py",
        "pe_core/seeds.py",
        "workflow/scripts/artifacts.py",
        "workflow/rules/route.smk",
        "workflow/schemas/config.schema.yaml",
        "config/config.yaml",
    ):
        path = copy / file
        path.write_text("# A remark.\n" + path.read_text())
    assert small.planned(copy) == set()
