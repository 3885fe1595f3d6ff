#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (transformers): makes table_numbers.json, which test_numbers.c reads: what TapasTokenizer finds in texts, and which of them
# it calls empty.
#     tests/unit/data/table_numbers.py [COUNT] >tests/unit/data/table_numbers.json
import json, random, sys
from transformers.models.tapas import tokenization_tapas as tapas

TEXTS = ["12", "The fox", "", "-", "n/a", "N/A", "nan", "?", "_", "1,234.5", "1,23", "1,234,567", "12.", ".5", "-3", "a -3", "a-3", "+7 kg", "5th", "first",
         "twelfth", "one two", "1990", "1990s", "march", "may 5", "5 may", "March 5, 2010", "5 March 2010", "12-31-1999", "1999-12-31", "1999-13-31",
         "1999-02-29", "2000-02-29", "february 29", "31.12.1999", "friday, jan 5", "Friday, January 5", "jan 2010", "january 2010", "2017", "1699", "1e5", "1e999",
         "5th of june 2010 and 1,234.5", "7 february 1967", "10 june 1996", "28 november 1967", "$36,542", "40%", "1:2", "1.2.3", "--5", "sept 5", "Sep 5",
         "\u00e9t\u00e9 2003", "Stra\u00dfe 5", "100 000", "3rd 4th", "00", "0 0", "12 31 1999", "2010-5", "2010-05", "june 31", "mayor 5", "5 mayo", "inf", "0x10"]
WORDS = ["12", "3", "1,000", "2010", "1999", "may", "june", "Jan", "5th", "two", "second", "-", "-4", "+4", ".5", "5.", "fox", "monday,", "friday,", "12,", "31", "29",
         "february", "of", "2010-05", "05-06-2007", "1.2.2003", "$", "e5", "1e5", "90s", "1990s", "1,2345"]


def value(v):
    if v.float_value is not None:
        return v.float_value
    return [v.date.year or 0, v.date.month or 0, v.date.day or 0]


rng = random.Random(5)
texts = TEXTS + [rng.choice([" ", " ", "", "  "]).join(rng.choice(WORDS) for _ in range(rng.randint(1, 6))) for _ in range(int((sys.argv[1:] or ["120"])[0]))]
print("[")
print(",\n".join(json.dumps({"text": t, "empty": tapas.format_text(t) == tapas.EMPTY_TEXT,
                            "found": [value(v) for v in tapas._get_numeric_values(tapas.normalize_for_match(t))]}) for t in texts))
print("]")
