# SPDX-License-Identifier: Apache-2.0
"""Stands in for a browser: opens what its last argument names, follows the page that a start file leads to, tells what it found to
FAKE_BROWSER/told (JSON), waits for FAKE_BROWSER/go and says hello to assay. Python's standard library alone."""
import html
import json
import os
import re
import stat
import sys
import time
import urllib.parse
import urllib.request

folder = os.environ["FAKE_BROWSER"]
told = {"pid": os.getpid(), "folder": os.getcwd(), "url": sys.argv[-1]}
if told["url"].startswith("file://"):
    path = urllib.parse.unquote(told["url"][len("file://"):])
    told["start"] = path
    told["modes"] = [stat.S_IMODE(os.stat(p).st_mode) for p in (path, os.path.dirname(path))]
    told["url"] = html.unescape(re.search("url=([^\"]*)", open(path).read()).group(1))
with open(folder + "/told.new", "w") as f:
    json.dump(told, f)
os.rename(folder + "/told.new", folder + "/told")
while not os.path.exists(folder + "/go"):
    time.sleep(0.02)
page = told["url"].split("?")[0]
hello = {"user_agent": "Chrome/1.0", "platform": "Fake", "isolated": True, "webgpu": {"info": {"vendor": "fake"}, "limits": {}, "features": []}}
if "FAKE_WEBNN" in os.environ:
    hello["webnn"] = {"types": {}}
urllib.request.urlopen(urllib.request.Request(page + "hello?i=fake", json.dumps(hello).encode(), method="POST"), timeout=20)
time.sleep(600)
