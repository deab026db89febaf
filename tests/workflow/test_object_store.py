"""Results in a bucket: the tables of a local run, another machine that goes on, damage there."""

import shutil

import pytest

from tests.workflow import small

boto3 = pytest.importorskip("boto3", reason="envs/object_store.txt is not installed")
moto = pytest.importorskip("moto.server", reason="envs/object_store.txt is not installed")
pytest.importorskip("snakemake_storage_plugin_s3", reason="envs/object_store.txt is not installed")

pytestmark = pytest.mark.slow

PREFIX = "runs/small"
STORE = (
    *("--default-storage-provider", "s3"),
    *("--default-storage-prefix", f"s3://bucket/{PREFIX}"),
)
TABLE = "results/tables/table2.csv"
CELLS = "results/small/A/all-MiniLM-L6-v2"


@pytest.fixture
def bucket(monkeypatch):
    """A store on this machine, where every tool of S3 finds it."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    yield boto3.resource("s3").Bucket("bucket")
    server.stop()


def of(bucket, path):
    return bucket.Object(f"{PREFIX}/{path}")


def keys(bucket):
    return {found.key.removeprefix(f"{PREFIX}/") for found in bucket.objects.all()}


def content(bucket, path):
    return of(bucket, path).get()["Body"].read()


def another_machine(first, folder):
    """The folder on another machine, with its times and without what the bucket has."""
    return shutil.copytree(first, folder, ignore=shutil.ignore_patterns("results", "storage"))


def test_results_in_a_bucket(bucket, tmp_path):
    (tmp_path / "first").mkdir()
    first = small.house(tmp_path / "first", ["ordinary"])
    local = small.duplicate(first, tmp_path / "local")
    small.snakemake(local, TABLE)
    table = (local / TABLE).read_bytes()

    small.snakemake(first, *STORE, TABLE)
    assert content(bucket, TABLE) == table
    made = {path for path in keys(bucket) if path.startswith("results/")}
    sealed = {path.removesuffix(".sha256") for path in made if path.endswith(".sha256")}
    assert sealed == {path for path in made if not path.endswith(".sha256")}

    second = another_machine(first, tmp_path / "second")
    assert small.planned(second, *STORE, TABLE) == set()
    of(bucket, TABLE).delete()
    assert {rule for rule, _ in small.planned(second, *STORE, TABLE)} == {"table"}
    small.snakemake(second, *STORE, TABLE)
    assert content(bucket, TABLE) == table

    routes, contributions = f"{CELLS}/routes.npz", f"{CELLS}/ordinary/canary-0/contributions.npz"
    damaged = bytearray(content(bucket, routes))
    damaged[len(damaged) // 2] ^= 1
    of(bucket, routes).put(Body=bytes(damaged))
    of(bucket, contributions).delete()
    said = small.snakemake(second, *STORE, TABLE, passes=False)
    assert f"s3://bucket/{PREFIX}/{routes}: damaged" in said
    assert routes not in keys(bucket)
    small.snakemake(second, *STORE, TABLE)
    assert content(bucket, TABLE) == table
