# SPDX-License-Identifier: Apache-2.0
"""A file of torch.save as an attacker changes it: zip_file.py FROM FOLDER HOW..., each as FOLDER/HOW. Its entries are written anew by hand.
    zip64        sizes and offsets in zip64 fields, as they are
    far, long    ... but an entry's offset, or its size, of 2^64 - 16
    cut          the zip64 field of an entry is shorter than what it has to hold
    many         the zip64 end says 2^40 entries
    over         an entry's bytes are those of all that follow it too
    same         two entries are one place
    inside       an entry lies within the bytes of another
    folder       an entry with contents says that it is a folder
    name         an entry is called otherwise where it lies than in the table of contents
    case         a second table of entries whose names differ in capital letters"""
import struct
import sys
import zipfile

source, folder, *hows = sys.argv[1:]
with zipfile.ZipFile(source) as z:
    whole = [(i.filename, z.read(i)) for i in z.infolist()]


def head(name, data):
    return struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, len(data), len(data), len(name), 0) + name.encode()


def write(how, target):
    entries = list(whole)
    largest = max(entries, key=lambda e: len(e[1]))[0]
    if how == "case":
        entries += [(name.replace("data", "DATA"), b"\0" * len(data)) for name, data in entries if "data" in name]
    wide = how in ("zip64", "far", "long", "cut", "many")
    out, table, places = b"", b"", {}
    for name, data in entries:
        inner = "archive/data/inside"
        if how == "inside" and name == largest:              # a whole entry among the bytes of this one
            kept = head(inner, data[:64]) + data[:64]
            data = kept + data[len(kept):]
        places[name] = len(out)
        wrong = name.replace("data/", "DATA/") if how == "name" and name == largest else name
        out += head(wrong, data) + data
    if how == "inside":
        entries.append((inner, entries[[n for n, _ in entries].index(largest)][1][:64]))
        places[inner] = places[largest] + 30 + len(largest)
    for name, data in entries:
        size, place = len(data), places[name]
        if name == largest:
            size = {"long": 2**64 - 16, "over": len(out) - place - 30 - len(name)}.get(how, size)
            place = 2**64 - 16 if how == "far" else place
        if how == "same" and name == entries[-1][0]:
            place, size = places[largest], len(dict(entries)[largest])
        extra = struct.pack("<2H3Q", 1, 24, size, size, place) if wide else b""
        if how == "cut" and name == largest:
            extra = struct.pack("<2HQ", 1, 8, size)
        small = [2**32 - 1] * 3 if wide else [size, size, place]
        table += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, *small[:2], len(name), len(extra), 0, 0, 0, 16 if how == "folder" and name == largest else 0, small[2])
        table += name.encode() + extra
    end = b""
    if wide:
        count = 2**40 if how == "many" else len(entries)
        end += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(table), len(out))
        end += struct.pack("<4sLQL", b"PK\6\7", 0, len(out) + len(table), 1)
    counts = [2**16 - 1] * 2 if wide else [len(entries)] * 2
    end += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *counts, *([2**32 - 1] * 2 if wide else [len(table), len(out)]), 0)
    with open(target, "wb") as f:
        f.write(out + table + end)


for how in hows:
    write(how, folder + "/" + how)
