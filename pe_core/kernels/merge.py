"""Sorted lists of the k nearest, and probes merged into them.

The order everywhere is (squared distance, bank position): at equal distances the lower position
comes first. A list is a row of positions beside a row of distances, in that order.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def insert(index, distance, filled, position, value):
    """Put one entry into a sorted list that holds `filled` entries; return how many it holds now.

    A full list drops its last entry, or the new one where that comes after it.
    """
    if filled == index.size:
        last = filled - 1
        if value > distance[last] or (value == distance[last] and position > index[last]):
            return filled
        slot = last
    else:
        slot = filled
        filled += 1
    while slot > 0 and (
        distance[slot - 1] > value or (distance[slot - 1] == value and index[slot - 1] > position)
    ):
        distance[slot] = distance[slot - 1]
        index[slot] = index[slot - 1]
        slot -= 1
    distance[slot] = value
    index[slot] = position
    return filled


@njit(cache=True, nogil=True)
def merge(index, distance, filled, positions, values):
    """Insert every probe into every record's list, whose first `filled` entries are given."""
    k = index.shape[1]
    for record in range(index.shape[0]):
        held = filled
        own_index, own_distance, own_values = index[record], distance[record], values[record]
        for probe in range(positions.size):
            value = own_values[probe]
            # Nearly every probe ends here; calling `insert` for it takes eleven times as long.
            if held == k and value > own_distance[k - 1]:
                continue
            held = insert(own_index, own_distance, held, positions[probe], value)


@njit(cache=True, nogil=True)
def add(index, distance, position, values):
    """Insert one probe into full lists; return the records whose lists changed."""
    last = index.shape[1] - 1
    changed = np.empty(index.shape[0], np.int64)
    count = 0
    for record in range(index.shape[0]):
        value = values[record]
        worst = distance[record, last]
        if value < worst or (value == worst and position < index[record, last]):
            insert(index[record], distance[record], last + 1, position, value)
            changed[count] = record
            count += 1
    return changed[:count]
