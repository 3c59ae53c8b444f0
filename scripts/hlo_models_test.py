#!/usr/bin/env python3
"""Checks testdata/models, corpus, bench and sharded without running a program: that the files agree with
each other and with their README, and that the comparison finds what it should."""

import json
import math
import pathlib
import re
import tempfile
import unittest

import hlo_models

MODELS, CORPUS, BENCH, SHARDED = hlo_models.FOLDERS
LIMITS = {MODELS: 10_000_000, CORPUS: 2_500_000, BENCH: 1_500_000, SHARDED: 1_500_000}


def references():
    return [p for folder in LIMITS for p in sorted(folder.glob("*.json"))]


def entry_shapes(text):
    """The shapes of the entry's parameters and results, from the first line of a module."""
    layout = re.search(r"entry_computation_layout=\{\((.*?)\)->(.*)\}", text.split("\n", 1)[0])
    return [re.findall(r"\w+\[[\d,]*\]", part) for part in layout.groups()]


class Files(unittest.TestCase):
    def test_there_are_models(self):
        names = {p.stem for p in references()}
        self.assertLessEqual({"mlp_train_step", "gpt2_small", "resnet18", "lstm", "kmeans",
                              "embedding", "attention_bf16"}, names)
        self.assertGreater(len(names), 100)

    def test_inputs_and_outputs_are_those_of_the_module(self):
        for path in references():
            with self.subTest(path=path.name):
                model = json.loads(path.read_text())
                text = (path.parent / model["hlo"]).read_text()
                parameters, results = entry_shapes(text)
                self.assertEqual([i["shape"] for i in model["inputs"]], parameters)
                self.assertEqual([o["shape"] for o in model["outputs"]], results)
                for key in ("inputs", "outputs"):
                    indices = [row["index"] for row in model[key]]
                    self.assertEqual(indices, list(range(len(indices))))

    def test_every_output_has_something_to_compare(self):
        for path in references():
            for output in json.loads(path.read_text())["outputs"]:
                with self.subTest(path=path.name, output=output["index"]):
                    kind, dims = hlo_models.parse_shape(output["shape"])
                    count = math.prod(dims) * (2 if hlo_models.is_complex(kind) else 1)
                    if "values" in output:
                        self.assertEqual(len(output["values"]), count)
                    else:
                        places = [i for i, _ in output["samples"]]
                        self.assertGreaterEqual(len(places), 64)
                        self.assertEqual(places, sorted(set(places)))
                        self.assertLess(places[-1], count)
                    for part in output.get("tolerance", {"abs": 0, "rel": 0}).values():
                        self.assertTrue(isinstance(part, str) or 0 <= part < 0.1)

    def test_sizes_and_paths(self):
        for folder, limit in LIMITS.items():
            files = [p for p in folder.rglob("*") if p.is_file()]
            self.assertLess(sum(p.stat().st_size for p in files), limit)
            for path in files:
                found = re.search(r'"/[a-z]\w*/', path.read_text())
                self.assertIsNone(found, f"{path} names a path of some machine")


class Generator(unittest.TestCase):
    def test_readme_table(self):
        rows = re.findall(r"\| index (\d), `(\w+)`, (\S+) to (\S+) \| (.*) \|",
                          (MODELS / "README.md").read_text())
        self.assertEqual(len(rows), 3)
        for index, kind, lo, hi, want in rows:
            number = int if kind == "randint" else float
            shape = "s32[3]" if kind == "randint" else "f32[3]"
            item = {"index": int(index), "kind": kind, "lo": number(lo), "hi": number(hi),
                    "shape": shape}
            got = [hlo_models.number_of(shape[:3], v) for v in hlo_models.generate(item, 1)]
            self.assertEqual(got, [number(v) for v in want.split(", ")])

    def test_values_stay_in_range(self):
        item = {"index": 3, "shape": "s32[2000]", "kind": "randint", "lo": -2, "hi": 3}
        self.assertEqual(set(hlo_models.generate(item, 1)), {-2, -1, 0, 1, 2})
        item = {"index": 3, "shape": "f32[2000]", "kind": "uniform", "lo": -0.5, "hi": 0.25}
        drawn = hlo_models.generate(item, 1)
        self.assertTrue(all(-0.5 <= v < 0.25 for v in drawn))
        self.assertAlmostEqual(math.fsum(drawn) / 2000, -0.125, delta=0.02)


class Comparison(unittest.TestCase):
    OUTPUT = {"index": 0, "shape": "f32[3]", "values": [0.1, "nan", "inf"],
              "tolerance": {"abs": 1e-6, "rel": 0, "why": ""}}

    def test_agreement(self):
        self.assertEqual([], hlo_models.compare_output(self.OUTPUT, [0.1 + 9e-7, math.nan,
                                                                     math.inf]))

    def test_each_difference_is_found(self):
        for scalars in ([0.1 + 2e-6, math.nan, math.inf], [0.1, 0.0, math.inf],
                        [0.1, math.nan, -math.inf], [math.nan, math.nan, math.inf]):
            self.assertEqual(1, len(hlo_models.compare_output(self.OUTPUT, scalars)), scalars)

    def test_statistics_see_elements_that_are_not_sampled(self):
        output = {"index": 0, "shape": "f32[4]", "samples": [[0, 1.0]],
                  "statistics": hlo_models.statistics([1.0, 2.0, 3.0, 4.0])}
        self.assertEqual([], hlo_models.compare_output(output, [1.0, 2.0, 3.0, 4.0]))
        self.assertTrue(hlo_models.compare_output(output, [1.0, 2.0, 3.5, 4.0]))
        self.assertTrue(hlo_models.compare_output(output, [1.0, math.nan, 3.0, 4.0]))

    def test_npy_round_trip(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "arg0.npy"
            for shape, scalars in (("f32[2,2]", [1.5, -2.0, 0.25, 3.0]), ("bf16[3]", [1, -0.5, 3]),
                                   ("s4[2]", [-8, 7]), ("c64[1]", [1.0, 2.0]), ("f16[]", [0.5]),
                                   ("pred[2]", [0, 1])):
                hlo_models.write_npy(path, shape, scalars)
                self.assertEqual(list(hlo_models.read_npy(path, shape)), scalars)
            with self.assertRaisesRegex(hlo_models.ModelError, "has shape"):
                hlo_models.read_npy(path, "pred[3]")


if __name__ == "__main__":
    unittest.main()
