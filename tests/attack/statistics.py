# SPDX-License-Identifier: Apache-2.0
# statistics.py FILE BLOCK OFFSET IS SAYS: a DuckDB file whose statistics say otherwise than its values. The number IS stands in the segment of a
# column at OFFSET of BLOCK, and as the smallest or the largest value of it elsewhere: there it becomes SAYS. Checksums are made good.
# A file is three headers of 4 KiB and blocks, each of which begins with its checksum: 5381, exclusive or of each word of 64 bits times a number.
import struct
import sys

HEADERS, BLOCK = 3 * 4096, 16384


def checksum(block):
    sum = 5381
    for (word,) in struct.iter_unpack("<Q", block):
        sum ^= word * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    return sum


file, block, offset, value, says = sys.argv[1:]
value, says = struct.pack("<d", float(value)), struct.pack("<d", float(says))
segment = HEADERS + int(block) * BLOCK + 8 + int(offset)
with open(file, "rb") as f:
    data = bytearray(f.read())
assert struct.unpack_from("<Q", data, HEADERS)[0] == checksum(data[HEADERS + 8 : HEADERS + BLOCK])
changed, at = 0, data.find(value)
while at >= 0:
    if not segment <= at < segment + 64:
        data[at : at + 8] = says
        changed += 1
    at = data.find(value, at + 8)
assert changed, "no statistics have it"
for at in range(HEADERS, len(data), BLOCK):
    struct.pack_into("<Q", data, at, checksum(data[at + 8 : at + BLOCK]))
with open(file, "wb") as f:
    f.write(data)
