#!/usr/bin/env python3
"""Whether each message of the parser and the verifier is seen by a test.

    scripts/check_diagnostics.py            # those that no test expects; closes with `N passed, N failed`
    scripts/check_diagnostics.py --list     # all of them, with their places

A message is the text of a call such as Fail(loc, "…"), or another string of two words or more in the sources below: a part of a
message that is put together from several. What is handed to Expect and Unexpected counts as they show it, `expected …, found `. A test
expects a message when one line of testdata or of a unit test holds its words, in order, with anything in the place of `{}`.

What no text can trigger belongs in UNREACHABLE with the reason. Standard library only.
"""

import bisect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ["parser/*.cc", "parser/*.h", "lib/ir/verif*", "lib/ops/shape_*", "lib/types/shape_validate.cc", "lib/types/iota_tiles.cc",
           "lib/types/mesh.cc", "lib/types/replica_groups.cc", "lib/types/sharding_*.cc"]
# Functions whose first string is a message.
REPORTS = {"Fail", "Report", "Warn", "Note", "Error", "Add", "AddText", "MakeShapeError", "Stop", "StopAtNumber"}
# Functions whose strings tell what is expected: `expected {what}, found {token}`, and the like.
EXPECTS = {"Unexpected": ", found ", "Expect": ", found ", "Expected": ", found ", "leaf_fail": ""}
# Whose strings are for developers, or no message at all.
SILENT = {"Internal", "static_assert", "CHECK", "DCHECK", "TakeWord", "IsWord"}
# Messages that no test shows, by the reason.
UNREACHABLE = {
    "a test would have to write such a file": [
        "`{}` is larger than 4 GiB",
    ],
    "the functions that edit a module keep its lists in step; the check is for a fault in one of them": [
        "the module has {} operands, but its use lists have {} entries",
        "the module has {} calls, but its caller lists have {} entries",
        "computation {} of the module is null",
        "computation `{}` is listed twice",
        "computation `{}` belongs to another module",
        "`{}` is removed but still listed",
        "`{}` is listed in computation `{}` but has another parent",
        "`{}` has id {}, but the module has given {} ids",
        "`{}` has id {}, which another instruction has as well",
        "computation `{}` has {} instructions but counts {}",
        "operand {} of `{}` is null",
        "operand {} of `{}`, `{}`, is removed",
        "called computation {} of `{}` is null",
        "the parameter list of computation `{}` names something else",
        "the use list of `{}` names operand {} of `{}`, which is another instruction",
        "the callers of computation `{}` name a call that goes elsewhere",
    ],
}
TOKEN = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|[A-Za-z_]\w*|#include[^\n]*|\S')
HOLE = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
TEST_ENDS = (".hlo", ".test", ".txt")


def plain(text):
    return text.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n")


def fixed_parts(message):
    """What stands between the holes of a format."""
    return HOLE.sub(lambda hole: {"{{": "{", "}}": "}"}.get(hole.group(), "\0"), message).split("\0")


def as_shown(called, text, first):
    """The fixed parts of a string in the calls `called`, innermost last, or None when it is no message."""
    if any(name in SILENT for name in called):
        return None
    for name in reversed(called):
        if name in EXPECTS:
            parts = fixed_parts(text) if called[-1] != name else [text]
            parts[0] = "expected " + parts[0]
            parts[-1] += EXPECTS[name]
            return parts
        if name in REPORTS and first:
            return fixed_parts(text)
    return fixed_parts(text) if len(re.findall(r"[A-Za-z]{2,}", text)) >= 2 and " " in text else None


def messages_of(path):
    """(line, text, fixed parts) of each message; adjacent strings are one."""
    source = path.read_text()
    calls, seen, word, text, start = [], [0], "", None, 0
    for token in TOKEN.finditer(source):
        piece = token.group()
        if piece.startswith(("//", "#")):
            continue
        if piece[0] == '"':
            start = token.start() if text is None else start
            text = (text or "") + plain(piece[1:-1])
            continue
        if text is not None:
            parts = as_shown(calls, text, seen[-1] == 0)
            seen[-1] += 1
            if parts is not None:
                yield source.count("\n", 0, start) + 1, text, parts
            text = None
        if piece == "(":
            calls.append(word)
            seen.append(0)
        elif piece == ")" and calls:
            calls.pop()
            seen.pop()
        elif piece in "{};":
            seen[-1] = 0
        word = piece


class Expectations:
    """The lines of all tests that name a message."""

    def __init__(self):
        lines = []
        for path in sorted((ROOT / "testdata").rglob("*")):
            if path.suffix in TEST_ENDS and path.stat().st_size < 1_000_000:
                text = path.read_text(errors="replace")
                if "expected-" in text or "CHECK" in text:
                    lines += [line for line in text.splitlines() if "expected-" in line or "CHECK" in line]
        for folder in ("parser", "lib", "tools"):
            for path in sorted((ROOT / folder).rglob("*_test.cc")):
                joined = re.sub(r'"\s*\n\s*"', "", path.read_text())  # a string that goes on in the next line
                lines += [plain(line) for line in joined.splitlines() if '"' in line]
        self.text = "\n".join(lines)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def hold(self, parts):
        """Whether one line holds all parts, in order."""
        longest = max(parts, key=len)
        at = self.text.find(longest) if longest else -1
        while at >= 0:
            i = bisect.bisect_right(self.starts, at)
            line = self.text[self.starts[i - 1]:self.starts[i]]
            position = 0
            for part in parts:
                position = line.find(part, position)
                if position < 0:
                    break
                position += len(part)
            if position >= 0:
                return True
            at = self.text.find(longest, self.starts[i])
        return False


def main():
    listed = [(path.relative_to(ROOT), *message) for glob in SOURCES for path in sorted(ROOT.glob(glob))
              if "_test" not in path.name for message in messages_of(path)]
    if "--list" in sys.argv[1:]:
        for path, line, text, parts in listed:
            print(f"{path}:{line}: {'{}'.join(parts)}")
        return 0
    tests = Expectations()
    unreachable = {text for texts in UNREACHABLE.values() for text in texts}
    failed = 0
    for path, line, text, parts in listed:
        if any(part.strip() for part in parts) and text not in unreachable and not tests.hold(parts):
            print(f"{path}:{line}: no test expects `{'{}'.join(parts)}`")
            failed += 1
    passed = len(listed) - failed
    for text in sorted(unreachable - {text for _, _, text, _ in listed}):
        print(f"scripts/check_diagnostics.py: there is no message `{text}` any more")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
