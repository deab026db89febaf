"""Who speaks in Shakespeare's plays: generic roles, renamed roles, people of several plays.

The source names the speaker of every speech as the play's edition does. A user of the audit is a
person, so three readings of a name are decided here, by hand:

* a generic role ("First Lord", "Messenger", "All") is nobody in particular and is dropped;
* a role that changes its name within a play, by a crown, a disguise, a part in the play within the
  play or a misprint, stays one person;
* a person of several plays is one person where the plays of one genre continue one another: the
  histories, and the two Roman plays about Mark Antony. Equal names elsewhere (every Antonio) are
  different people, and so are relatives who share a title (the Warwicks of Henry V and of Henry VI,
  Part II). The comedy's Falstaff and his company are kept apart from the histories', so that a user
  has one genre.
"""

import re

_ORDINALS = frozenset({"first", "second", "third", "fourth", "fifth", "sixth", "seventh"})
_CROWDS = frozenset({"all", "another", "both", "several", "some"})
_GENERIC = re.compile(
    r"(attendant|boy|captain|carrier|citizen|clerk|egyptian|gaoler|girl|groom|guard|herald|huntsman"
    r"|keeper|knight|lord|man|mariner|messenger|musician|nobleman|officer|outlaw|page|patrician"
    r"|player|post|priest|roman|sailor|scout|senator|sentinel|sergeant|servant|soldier"
    r"|townsman|traveller|tribune|volsce|watchman)s?"
    r"|banditti|children|commons|danes|gentle(wo)?m[ae]n|lad(y|ies)|lieutenant|myrmidons|princes|thieves"
    r"|watch"
)

# Bold lines of the source that are the words of the speech before, not a speaker.
MISPRINTED_SPEAKERS = frozenset({"As long as you or I", "Here stand I", "This way will I"})

# Play, and the names that are the same person as the first one.
_RENAMED = {
    "a-midsummer-night-s-dream": (
        "HERMIA=HERNIA",
        "BOTTOM=Pyramus",
        "FLUTE=Thisbe",
        "SNOUT=Wall",
        "STARVELING=Moonshine",
        "SNUG=Lion",
        "QUINCE=Prologue",
    ),
    "love-s-labours-lost": ("DON ADRIANO DE ARMADO=ARMADO",),
    "henry-iv-part-1": ("EARL OF WORCESTER=WORCESTER",),
    "henry-v": ("KING OF FRANCE=FRENCH KING",),
    "henry-vi-part-1": ("SUFFOLK=SU FFOLK", "COUNTESS OF AUVERGNE=OF AUVERGNE"),
    "henry-viii": ("QUEEN KATHARINE=KATHARINE",),
    "king-john": ("QUEEN ELINOR=ELINOR",),
    "richard-ii": ("Gardener=GARDENER",),
    "richard-iii": (
        "DERBY=STANLEY=LORD STANLEY",
        "BUCKINGHAM=of BUCKINGHAM",
        "LADY ANNE=Ghost of LADY ANNE",
        "GREY=Ghost of GREY",
        "VAUGHAN=Ghost of VAUGHAN",
    ),
    "measure-for-measure": ("DUKE VINCENTIO=DUKE", "POMPEY=POMPHEY"),
    "the-taming-of-the-shrew": ("KATHARINA=KATARINA",),
    "coriolanus": ("CORIOLANUS=MARCIUS", "LARTIUS=TITUS"),
    "julius-caesar": ("CAESAR=GHOST",),
    "titus-andronicus": ("MARCUS ANDRONICUS=MARCUS",),
    "a-winter-s-tale": ("Shepherd=Shepard",),
    "cymbeline": ("POSTHUMUS LEONATUS=Posthumus Leonatus",),
    "king-lear": ("KING LEAR=LEAR",),
    "romeo-and-juliet": ("Nurse=NURSE",),
}

# Person, and the play and names under which they speak.
_RECURRING = {
    "Antony": ("julius-caesar: ANTONY", "antony-and-cleopatra: MARK ANTONY"),
    "Archbishop Scroop": (
        "henry-iv-part-1: ARCHBISHOP OF YORK",
        "henry-iv-part-2: ARCHBISHOP OF YORK",
    ),
    "Aumerle": ("richard-ii: DUKE OF AUMERLE", "henry-v: YORK"),
    "Bardolph": (
        "henry-iv-part-1: BARDOLPH",
        "henry-iv-part-2: BARDOLPH",
        "henry-v: BARDOLPH",
    ),
    "Burgundy": ("henry-v: BURGUNDY", "henry-vi-part-1: BURGUNDY"),
    "Cardinal Beaufort": ("henry-vi-part-1: OF WINCHESTER", "henry-vi-part-2: CARDINAL"),
    "Clarence": (
        "henry-vi-part-3: GEORGE=CLARENCE",
        "richard-iii: CLARENCE=Ghost of CLARENCE",
    ),
    "Exeter": ("henry-v: EXETER", "henry-vi-part-1: EXETER"),
    "Falstaff": (
        "henry-iv-part-1: FALSTAFF",
        "henry-iv-part-2: FALSTAFF",
    ),
    "Hastings": ("henry-vi-part-3: HASTINGS", "richard-iii: HASTINGS=Ghost of HASTINGS"),
    "Hotspur": ("richard-ii: HENRY PERCY", "henry-iv-part-1: HOTSPUR"),
    "Humphrey of Gloucester": (
        "henry-iv-part-2: GLOUCESTER",
        "henry-v: GLOUCESTER",
        "henry-vi-part-1: GLOUCESTER",
        "henry-vi-part-2: GLOUCESTER",
    ),
    "John of Lancaster": (
        "henry-iv-part-1: LANCASTER",
        "henry-iv-part-2: LANCASTER",
        "henry-v: BEDFORD",
        "henry-vi-part-1: BEDFORD",
    ),
    "King Edward IV": (
        "henry-vi-part-2: EDWARD",
        "henry-vi-part-3: EDWARD=KING EDWARD IV",
        "richard-iii: KING EDWARD IV",
    ),
    "King Henry IV": (
        "richard-ii: HENRY BOLINGBROKE",
        "henry-iv-part-1: KING HENRY IV",
        "henry-iv-part-2: KING HENRY IV",
    ),
    "King Henry V": (
        "henry-iv-part-1: PRINCE HENRY",
        "henry-iv-part-2: PRINCE HENRY=KING HENRY V",
        "henry-v: KING HENRY V",
    ),
    "King Henry VI": (
        "henry-vi-part-1: KING HENRY VI",
        "henry-vi-part-2: KING HENRY VI",
        "henry-vi-part-3: KING HENRY VI",
        "richard-iii: of King Henry VI",
    ),
    "King Richard III": (
        "henry-vi-part-2: RICHARD",
        "henry-vi-part-3: RICHARD=GLOUCESTER",
        "richard-iii: GLOUCESTER=KING RICHARD III",
    ),
    "Lady Percy": ("henry-iv-part-1: LADY PERCY", "henry-iv-part-2: LADY PERCY"),
    "Lepidus": ("julius-caesar: LEPIDUS", "antony-and-cleopatra: LEPIDUS"),
    "Lord Rivers": ("henry-vi-part-3: RIVERS", "richard-iii: RIVERS=Ghost of RIVERS"),
    "Mistress Quickly": (
        "henry-iv-part-1: Hostess",
        "henry-iv-part-2: MISTRESS QUICKLY",
        "henry-v: Hostess",
    ),
    "Northumberland": (
        "richard-ii: NORTHUMBERLAND",
        "henry-iv-part-1: NORTHUMBERLAND",
        "henry-iv-part-2: NORTHUMBERLAND",
    ),
    "Octavius": ("julius-caesar: OCTAVIUS", "antony-and-cleopatra: OCTAVIUS CAESAR"),
    "Oxford": ("henry-vi-part-3: OXFORD", "richard-iii: OXFORD"),
    "Peto": ("henry-iv-part-1: PETO", "henry-iv-part-2: PETO"),
    "Pistol": ("henry-iv-part-2: PISTOL", "henry-v: PISTOL"),
    "Poins": ("henry-iv-part-1: POINS", "henry-iv-part-2: POINS"),
    "Prince Edward of Lancaster": (
        "henry-vi-part-3: PRINCE EDWARD=PRINCE",
        "richard-iii: of Prince Edward",
    ),
    "Queen Elizabeth": (
        "henry-vi-part-3: LADY GREY=QUEEN ELIZABETH",
        "richard-iii: QUEEN ELIZABETH",
    ),
    "Queen Margaret": (
        "henry-vi-part-1: MARGARET",
        "henry-vi-part-2: QUEEN MARGARET",
        "henry-vi-part-3: QUEEN MARGARET",
        "richard-iii: QUEEN MARGARET",
    ),
    "Richard Beauchamp of Warwick": (
        "henry-iv-part-2: WARWICK",
        "henry-v: WARWICK",
        "henry-vi-part-1: WARWICK",
    ),
    "Richard Neville of Warwick": ("henry-vi-part-2: WARWICK", "henry-vi-part-3: WARWICK"),
    "Richard Plantagenet of York": (
        "henry-vi-part-1: PLANTAGENET=YORK",
        "henry-vi-part-2: YORK",
        "henry-vi-part-3: YORK",
    ),
    "Somerset": ("henry-vi-part-1: SOMERSET", "henry-vi-part-2: SOMERSET"),
    "Suffolk": ("henry-vi-part-1: SUFFOLK", "henry-vi-part-2: SUFFOLK"),
    "Thomas Montacute of Salisbury": ("henry-v: SALISBURY", "henry-vi-part-1: SALISBURY"),
    "Westmoreland": (
        "henry-iv-part-1: WESTMORELAND",
        "henry-iv-part-2: WESTMORELAND",
        "henry-v: WESTMORELAND",
    ),
    "Young Clifford": ("henry-vi-part-2: YOUNG CLIFFORD", "henry-vi-part-3: CLIFFORD"),
}


def is_generic(name: str) -> bool:
    """Return whether a speaker's name stands for nobody in particular, or for several people.

    Ordinals, crowds, joined speakers, and offices that many may hold do; `PAGE` in capitals is a
    family of Windsor.

    Example:
        >>> [is_generic(n) for n in ("First Lord", "Messenger", "ANGELO & ESCALUS", "ALL")]
        [True, True, True, True]
        >>> [is_generic(n) for n in ("PAGE", "Nurse", "LORD POLONIUS")]
        [False, False, False]
    """
    words = name.casefold().split()
    return (
        "&" in name
        or words[0] in _ORDINALS | _CROWDS
        or (_GENERIC.fullmatch(words[-1]) is not None and not name.endswith("PAGE"))
    )


def person(play: str, name: str) -> str:
    """Return the person who speaks under `name` in `play` (the file's name without its ending).

    Example:
        >>> person("henry-iv-part-1", "PRINCE HENRY"), person("henry-v", "KING HENRY V")
        ('King Henry V', 'King Henry V')
        >>> person("king-john", "PRINCE HENRY")
        'king-john/PRINCE HENRY'
    """
    return _PERSONS.get((play, name), f"{play}/{name}")


def roles_of_several_plays() -> dict[str, list[str]]:
    """Return each person of several plays with the plays they speak in.

    Example:
        >>> roles_of_several_plays()["Hotspur"]
        ['richard-ii', 'henry-iv-part-1']
    """
    plays = {who: [part.split(": ")[0] for part in parts] for who, parts in _RECURRING.items()}
    return {who: where for who, where in plays.items() if len(where) > 1}


def _persons() -> dict[tuple[str, str], str]:
    table = {}
    for play, groups in _RENAMED.items():
        for group in groups:
            first, *others = group.split("=")
            for name in others:
                table[play, name] = f"{play}/{first}"
    for who, parts in _RECURRING.items():
        for part in parts:
            play, names = part.split(": ")
            for name in names.split("="):
                table[play, name] = who
    return table


_PERSONS = _persons()
