#!/usr/bin/env python3
"""Which tests scripts/check runs for a change. Runs no program."""

import unittest

from changed_tests import lit_folders, unit_programs


class Programs(unittest.TestCase):
    def test_the_box_of_a_file(self):
        for name, programs in (("lib/ops/ops.def", ["ops_test"]), ("passes/simplify/dce.cc", ["passes_test"]),
                               ("backends/backend.h", ["backends_test"]), ("backends/cpu/library/dot.h", ["cpulib_test"]),
                               ("backends/cpu/tile/tile.h", ["cpu_test"]), ("tools/fuzz/programs/rows.h", ["fuzz_test"]),
                               ("tools/run/run_test.cc", ["run_support_test"])):
            with self.subTest(name=name):
                self.assertEqual(unit_programs([name]), programs)

    def test_none(self):
        for name in ("tools/hlo-run.cc", "tools/info/report.cc", "tools/opt/emit.cc", "lib/eval/README.md", "scripts/check"):
            with self.subTest(name=name):
                self.assertEqual(unit_programs([name]), [])


class Lit(unittest.TestCase):
    def test_the_longest_folder_counts(self):
        self.assertEqual(lit_folders(["tools/info/report.cc"]), ["testdata/info", "testdata/tools"])
        self.assertEqual(lit_folders(["tools/hlo-fuzz.cc"]), ["testdata/regress"])
        self.assertEqual(lit_folders(["scripts/check"]), ["testdata/scripts"])

    def test_tests_themselves(self):
        self.assertEqual(lit_folders(["testdata/tools/Inputs/any"]), ["testdata/tools"])
        self.assertEqual(lit_folders(["testdata/passes/cse/any.hlo", "testdata/passes/dce/any.hlo"]),
                         ["testdata/passes/cse", "testdata/passes/dce"])

    def test_once(self):
        self.assertEqual(lit_folders(["testdata/passes/dce/any.hlo", "passes/simplify/dce.cc"]), ["testdata/passes"])

    def test_not_what_lit_does_not_read(self):
        self.assertEqual(lit_folders(["testdata/run/any.hlo", "testdata/README.md", "testdata/lit.cfg.py", "README.md", "lib/README.md"]), [])


if __name__ == "__main__":
    unittest.main()
