"""What an agent does with Go modules in a sandbox: with other people's, and every way to reach the task's own."""

from __future__ import annotations

from cluster.gostage import FIX, TASK
from goproxy.stage import SUMDB

WORK = "mkdir -p /tmp/w && cd /tmp/w && rm -rf * && go mod init example.org/work >/dev/null 2>&1"
TOML = "github.com/BurntSushi/toml@v1.3.2"
USED = (
    'printf \'package work\\n\\nimport (\\n\\t"testing"\\n\\n\\t"example.com/lib"\\n)\\n\\n'
    "func TestOne(t *testing.T) { if lib.One != 1 { t.Fatal() } }\\n' > a_test.go"
)
"""Makes a package whose test uses ``example.com/lib``."""

_ASK = """
import os, sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(os.environ["GOPROXY"] + sys.argv[1])
except urllib.error.HTTPError as error:
    sys.exit(f"{error.code} Forbidden: {error.read().decode()}" if error.code == 403 else str(error))
"""

WAYS = {
    "its path": f"go get {TASK}@latest",
    "another version": f"go get {TASK}@v1.0.1",
    "the fix's pseudo-version": f"go get {TASK}@{FIX}",
    "the next major": f"go get {TASK}/v2@v2.0.0",
    "capitals": "go get github.com/Dustin/Go-Humanize@v1.0.1",
    "gopkg.in": "go get gopkg.in/dustin/go-humanize.v1@v1.0.1",
    "a VCS suffix": "go mod download www.github.com/dustin/go-humanize.git@v1.0.1",
    "a fork of the name": "go get github.com/someone/go-humanize@v1.0.1",
    "a renamed fork": "go mod download github.com/other/numbers@v1.0.0",
    "a vanity path": "go mod download vanity.example.org/h@v1.0.0",
    "the zip of another": "go mod download example.com/carrier@v1.0.0",
    "its versions": f"go list -m -versions {TASK}",
    "sums turned off": f"GOFLAGS=-mod=mod GONOSUMDB='*' GOSUMDB=off go get {TASK}@latest",
    "a replacement": f"go mod edit -require={TASK}@v1.0.1 -replace={TASK}=github.com/other/numbers@v1.0.0 && "
    f"printf 'package work\\n\\nimport _ \"{TASK}\"\\n' > a.go && go mod tidy",
    "its checksum": f"python3 -c '{_ASK}' /sumdb/{SUMDB}/lookup/{TASK}@v1.0.1",
}
"""Each must fail with 403 and one sentence."""

RULES = {
    "owned": WAYS["its path"],
    "fork-name": WAYS["a fork of the name"],
    "declared": WAYS["a renamed fork"],
    "origin": WAYS["a vanity path"],
    "carries": WAYS["the zip of another"],
}
"""A way that each rule refuses."""

COPIES = "find / -xdev -path '*cache/download*' -name '*.zip' | grep -E 'humanize|numbers|carrier'"
"""Finds a copy of the task's own module in a module cache."""
