"""What the runners in Python have in common: limits, comparisons, JSON lines."""

import argparse
import faulthandler
import json
import os
import random
import sys
import threading
import time
import uuid

# A script that is not done by then has failed, and says what it waited for.
LIMIT_SECONDS = 60


class Failure(Exception):
    """A script saw something else than it must."""


class NotApplicable(Exception):
    """The client has not what the script is about."""


class Run:
    """One script's run: its names, what it waits for, what it could not ask."""

    def __init__(self, corrupt):
        self.id = uuid.uuid4().hex[:10]
        self.corrupt = corrupt
        self.waits_for = "nothing yet"
        self.without = []

    def name(self, what):
        return f"clients-{self.id}-{what}"

    def same(self, what, got, want):
        """Fails unless got equals want. A corrupt run compares with another value, to
        show that the comparison is one."""
        if self.corrupt:
            want = altered(want)
        if got != want:
            raise Failure(f"{what}: got {short(got)}, want {short(want)}")

    def until(self, what, seconds, done, seen=None):
        """Calls done until it returns something true, which it returns. seen tells what
        there is instead."""
        self.waits_for = what
        end = time.monotonic() + seconds
        while True:
            result = done()
            if result:
                return result
            if time.monotonic() > end:
                raise Failure(f"waited {seconds} s for {what}" + (f": there is {seen()}" if seen else ""))
            time.sleep(0.02)

    def part(self, what, call):
        """Makes a call that not every client has, and notes if it has not."""
        self.waits_for = what
        try:
            return call()
        except NotApplicable:
            self.without.append(what)
            return None


def altered(value):
    """A value of the same kind that is not equal."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"\x01"
    if isinstance(value, str):
        return value + "?"
    if isinstance(value, (list, tuple)) and value:
        return type(value)([*value[:-1], altered(value[-1])])
    if isinstance(value, (set, frozenset)):
        return value | {"?"}
    if isinstance(value, dict):
        return {**value, "?": "?"}
    return "?"


def short(value):
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:120]}...{text[-60:]} ({len(text)} characters)"


def payload(seed, size):
    """Bytes that a codec can shrink where seed is even, and cannot where it is odd."""
    if seed % 2:
        return random.Random(seed).randbytes(size)
    return (f"record {seed}, " * (size // 8 + 1)).encode()[:size]


def run_one(make_client, bootstrap, script, corrupt):
    """Runs a script in a thread of its own, so that one that hangs is told too."""
    run = Run(corrupt)
    run.waits_for = f"a first answer of {bootstrap}"
    outcome = {}

    def body():
        try:
            script(make_client(bootstrap), run)
            outcome["ok"] = True
        except NotApplicable as e:
            outcome.update(ok=False, not_applicable=str(e))
        except Exception as e:  # Whatever it is, it is the script's result.
            kind = "" if isinstance(e, Failure) else f"{type(e).__name__}: "
            outcome.update(ok=False, error=f"{kind}{e} (last waited for {run.waits_for})")

    begin = time.monotonic()
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(LIMIT_SECONDS)
    if not outcome:
        outcome.update(ok=False, error=f"not done after {LIMIT_SECONDS} s: waited for {run.waits_for}")
        faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    result = {"script": script.__name__, "ok": outcome["ok"], "seconds": round(time.monotonic() - begin, 2)}
    for key in ("error", "not_applicable"):
        if key in outcome:
            result[key] = outcome[key]
    if run.without:
        result["without"] = run.without
    print(json.dumps(result), flush=True)


def main(make_client, scripts):
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--script", default="all")
    parser.add_argument("--corrupt", action="store_true", help="compare with wrong values: every script must fail")
    args = parser.parse_args()
    chosen = [s for s in scripts if args.script in ("all", s.__name__)]
    if not chosen:
        parser.error(f"no script {args.script}: there are {', '.join(s.__name__ for s in scripts)}")
    for script in chosen:
        run_one(make_client, args.bootstrap, script, args.corrupt)
    # A client whose script hangs has threads that would keep the process.
    sys.stdout.flush()
    os._exit(0)
