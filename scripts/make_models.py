#!/usr/bin/env python3
"""Writes testdata/models: HLO text of real JAX programs, and what XLA computes for them.

    python scripts/make_models.py                     # all of them
    python scripts/make_models.py lstm mlp_small      # some
    python scripts/make_models.py --save-inputs=DIR   # also DIR/<name>/arg0.npy, ...

Needs `pip install jax==0.10.2 jaxlib==0.10.2`; nothing else in this repository does. The inputs
are not stored: the JSON file says how to make them (testdata/models/README.md).
"""

import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from models import attention, embedding, gpt2, kmeans, lstm, mlp, reference, resnet  # noqa: E402

MODELS = {
    "mlp_train_step": lambda: mlp.model(sizes=(784, 512, 512, 10), batch=128),
    "mlp_small": lambda: mlp.model(sizes=(32, 16, 16, 4), batch=8),
    "gpt2_small": lambda: gpt2.model(layers=12, width=768, heads=12, length=128, positions=1024,
                                     vocabulary=50257),
    "gpt2_tiny": lambda: gpt2.model(layers=2, width=64, heads=4, length=16, positions=32,
                                    vocabulary=257),
    "resnet18": lambda: resnet.model(image=224, widths=(64, 128, 256, 512), classes=1000),
    "resnet18_tiny": lambda: resnet.model(image=32, widths=(8, 12, 16, 20), classes=10),
    "lstm": lambda: lstm.model(steps=64, batch=16, inputs=128, hidden=256),
    "lstm_tiny": lambda: lstm.model(steps=64, batch=2, inputs=8, hidden=12),
    "kmeans": lambda: kmeans.model(points=4096, centres=64, dimensions=32),
    "kmeans_tiny": lambda: kmeans.model(points=96, centres=6, dimensions=4),
    "embedding": lambda: embedding.model(rows=20000, width=64, batch=1024),
    "embedding_tiny": lambda: embedding.model(rows=50, width=8, batch=24),
    "attention_bf16": lambda: attention.model(batch=2, length=128, width=512, heads=8),
    "attention_bf16_tiny": lambda: attention.model(batch=1, length=8, width=16, heads=2),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all models")
    parser.add_argument("--output-dir", default=os.path.join(HERE, "..", "testdata", "models"))
    parser.add_argument("--save-inputs", metavar="DIR", help="also write the inputs as .npy files")
    args = parser.parse_args()
    unknown = [n for n in args.names if n not in MODELS]
    if unknown:
        parser.error(f"unknown model {unknown[0]}; there are: {', '.join(MODELS)}")
    reference.configure("models")
    os.makedirs(args.output_dir, exist_ok=True)
    for name in args.names or MODELS:
        start = time.perf_counter()
        text, values, arrays, _ = reference.evaluate(name, MODELS[name]())
        with open(os.path.join(args.output_dir, f"{name}.hlo"), "w", encoding="utf-8") as file:
            file.write(text)
        reference.write_json(os.path.join(args.output_dir, f"{name}.json"), values)
        if args.save_inputs:
            reference.save_inputs(os.path.join(args.save_inputs, name), arrays)
        print(f"{name:20} {len(text):8} bytes of HLO, {len(arrays)} inputs, "
              f"{len(values['outputs'])} outputs, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
