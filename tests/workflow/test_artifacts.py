import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import artifacts


def test_round_trip_of_arrays(tmp_path):
    path = tmp_path / "folder" / "a.npz"
    artifacts.save_arrays(path, x=np.arange(5), y=np.float32(2))
    stored = artifacts.load_arrays(path)
    assert stored["x"].tolist() == [0, 1, 2, 3, 4]
    assert stored["y"] == np.float32(2)


DAMAGED_SEALS = {
    "unsealed": None,
    "empty seal": b"",
    "torn seal": b"\xff\xfe",
    "another's seal": hashlib.sha256(b"another").hexdigest().encode() + b"\n",
}


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", *DAMAGED_SEALS])
def test_damage_is_named_and_removed(tmp_path, damage):
    path = tmp_path / "a.npy"
    artifacts.save_array(path, np.arange(100.0))
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(data[:-1])
    elif damage == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif damage == "empty":
        path.write_bytes(b"")
    elif DAMAGED_SEALS[damage] is None:
        (tmp_path / "a.npy.sha256").unlink()
    else:
        (tmp_path / "a.npy.sha256").write_bytes(DAMAGED_SEALS[damage])
    with pytest.raises(artifacts.DamagedError, match=r"a\.npy: damaged"):
        artifacts.load_array(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["a.npy", "a.npy.sha256"])
def test_a_folder_in_the_place_of_a_file_is_named_and_left(tmp_path, name):
    path = tmp_path / "a.npy"
    artifacts.save_array(path, np.arange(100.0))
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(artifacts.DamagedError, match=rf"a\.npy: cannot be read: .*{name}"):
        artifacts.load_array(path)
    assert path.exists()


def test_a_failed_write_leaves_nothing_and_keeps_the_old(tmp_path):
    path = tmp_path / "a.json"
    artifacts.save_json(path, {"old": 1})

    def fail_half_way():
        with artifacts.writing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert artifacts.load_json(path) == {"old": 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.json.sha256"]


def test_a_write_sweeps_up_after_killed_ones(tmp_path):
    for name in (".a.json.17", ".a.json.17.sha256", ".b.json.17"):
        (tmp_path / name).write_text("half")
    artifacts.save_json(tmp_path / "a.json", {})
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.json.17", "a.json", "a.json.sha256"]


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ValueError("IO: No space left on device")],
    ids=["the system's", "a library's"],
)
def test_a_refusal_of_the_system_names_the_artifact(tmp_path, error):
    def fail_half_way():
        with artifacts.writing(tmp_path / "a.json") as temporary:
            temporary.write_text("half")
            raise error

    words = r"a\.json: cannot be written: .*No space left on device.* MB are free"
    with pytest.raises(artifacts.UnwritableError, match=words):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(artifacts.UnwritableError, match=r"folder/a\.json: cannot be written: "):
        artifacts.save_json(tmp_path / "folder/a.json", {})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_what_is_no_number(tmp_path, value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        artifacts.save_json(tmp_path / "a.json", {"x": value})
    assert list(tmp_path.iterdir()) == []


def test_no_pickle_is_written_or_read(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        artifacts.save_arrays(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    path = tmp_path / "b.npy"
    with artifacts.writing(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        artifacts.load_array(path)


def test_json_keeps_every_character(tmp_path):
    path = tmp_path / "a.json"
    artifacts.save_json(path, {"text": "ε 😀 \n <script>"})
    assert artifacts.load_json(path)["text"] == "ε 😀 \n <script>"
    assert json.loads(path.read_text(encoding="utf-8"))["text"] == "ε 😀 \n <script>"


# In the Latin alphabet's encoding σ ends in a byte that YAML refuses, and a text has no ε.
WITHOUT_A_LOCALE = """
import artifacts, configuration, contracts, modules, versions
from pathlib import Path
artifacts.save_json("a.json", {"text": "ε"})
assert artifacts.load_json("a.json") == {"text": "ε"}
artifacts.save_text("a.txt", "ε")
versions.met(["a.json"])
contracts._validator("audit")
modules.digest("audit")
configuration.validate({}, Path(configuration.__file__).parents[1] / "schemas/config.schema.yaml")
"""


def test_no_file_is_read_or_written_in_the_encoding_of_the_locale(tmp_path):
    python = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    path = f"{Path(artifacts.__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    subprocess.run(
        [*python, "-c", WITHOUT_A_LOCALE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
