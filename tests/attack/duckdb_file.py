# SPDX-License-Identifier: Apache-2.0
# duckdb_file.py FILE statistics BLOCK OFFSET IS SAYS: statistics that say otherwise than the values. The number IS stands in the segment
# of a column at OFFSET of BLOCK, and as the smallest or the largest value of it elsewhere: there it becomes SAYS.
# duckdb_file.py FILE loop: the list of blocks that are free leads to itself.
# A file is three headers of 4 KiB and blocks, each of which begins with its checksum: 5381, exclusive or of each word of 64 bits times
# a number. The checksums are made good.
import struct
import sys

HEADERS, BLOCK = 3 * 4096, 16384


def checksum(block):
    sum = 5381
    for (word,) in struct.iter_unpack("<Q", block):
        sum ^= word * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    return sum


def say(data, block, offset, value, says):
    value, says = struct.pack("<d", float(value)), struct.pack("<d", float(says))
    segment = HEADERS + int(block) * BLOCK + 8 + int(offset)
    changed, at = 0, data.find(value)
    while at >= 0:
        if not segment <= at < segment + 64:
            data[at : at + 8] = says
            changed += 1
        at = data.find(value, at + 8)
    assert changed, "no statistics have it"


# A header: its checksum, how often it was written, and where lists begin: of tables, of free blocks. There is a part of a block in that: its
# number in the lowest 56 bits, above them which of its 64 parts. A part begins with the place of the next.
def loop(data):
    free = max(struct.unpack_from("<3Q", data, at + 8) for at in (4096, 2 * 4096))[2]
    part = (BLOCK - 8) // 64 & ~7
    at = HEADERS + (free & (1 << 56) - 1) * BLOCK + 8 + (free >> 56) * part
    struct.pack_into("<2Q", data, at, free, 1 << 40)


file, how, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
with open(file, "rb") as f:
    data = bytearray(f.read())
assert struct.unpack_from("<Q", data, HEADERS)[0] == checksum(data[HEADERS + 8 : HEADERS + BLOCK])
{"statistics": say, "loop": loop}[how](data, *rest)
for at in range(HEADERS, len(data), BLOCK):
    struct.pack_into("<Q", data, at, checksum(data[at + 8 : at + BLOCK]))
with open(file, "wb") as f:
    f.write(data)
