#!/usr/bin/env python3
"""What it gains to run two things beside each other: the same program with its async-start in the background and as a call.

    scripts/bench async [--build=build/release] [--rounds=7]

`products`: two chains of matrix products that do not wait for each other, one thread for each. `callback`: a call of the host that takes 5 ms
(testdata/tools/Inputs/custom_calls.cc) beside products. `exchange`: two devices sum an array; one comes 5 ms late, the other multiplies matrices
before it needs the sum. `ratio` is the time of the call by that of the background: above 1 it gains. Both are measured in turns; medians. Standard
library only.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

PRODUCTS = "\n".join(f"  m{i + 1} = f32[{{n}},{{n}}] dot(m{i}, m0), lhs_contracting_dims={{{{1}}}}, rhs_contracting_dims={{{{0}}}}" for i in range(6))

PROGRAM = """HloModule {name}

work {{
  m0 = f32[{n},{n}] parameter(0)
{work}
}}, execution_thread="side"

ENTRY main {{
  m0 = f32[{n},{n}] parameter(0)
  y = f32[{n},{n}] parameter(1)
  s = ((f32[{n},{n}]), f32[{n},{n}]) async-start(y), calls=work, async_execution_thread="side", frontend_attributes={{background="{wish}"}}
{products}
  d = f32[{n},{n}] async-done(s), async_execution_thread="side"
  ROOT r = f32[{n},{n}] add(d, m6)
}}
"""

CALLBACK = ('  ROOT r = f32[{n},{n}] custom-call(m0), custom_call_target="waits", api_version=API_VERSION_TYPED_FFI, '
            "backend_config={{ms = 5 : i64}}")


EXCHANGE = """HloModule exchange

sum {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}

soon {{
  ROOT m0 = f32[{n},{n}] parameter(0)
}}

late {{
  m0 = f32[{n},{n}] parameter(0)
{callback}
}}

multiply {{
  m0 = f32[{n},{n}] parameter(0)
{work}
}}

ENTRY main {{
  x = f32[{n},{n}] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  y = f32[{n},{n}] conditional(first, x, x), true_computation=soon, false_computation=late
  s = f32[{n},{n}] all-reduce-start(y), to_apply=sum, frontend_attributes={{background="{wish}"}}
  m = f32[{n},{n}] conditional(first, x, x), true_computation=multiply, false_computation=soon
  d = f32[{n},{n}] all-reduce-done(s)
  ROOT r = f32[{n},{n}] add(d, m)
}}
"""


def programs(wish):
    """Name, text, flags."""
    size = 512
    products = PRODUCTS.format(n=size)
    chain, callback = products.replace("  m6 =", "  ROOT m6 ="), CALLBACK.format(n=size)
    yield "products", PROGRAM.format(name="products", n=size, work=chain, wish=wish, products=products), []
    yield "callback", PROGRAM.format(name="callback", n=size, work=callback, wish=wish, products=products), []
    yield "exchange", EXCHANGE.format(n=size, callback=callback, work=chain, wish=wish), ["--num-replicas=2"]


def milliseconds(args, path, flags, library):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([args.build / "bin/hlo-run", "--platform=cpu", "--threads=1", "--seed=1", "--bench", "--duration=0.3", f"--json={out.name}",
                        *flags, *([] if path.name.startswith("products") else [f"--custom-call=waits=@{library}"]), path],
                       check=True, capture_output=True)
        return json.loads(pathlib.Path(out.name).read_text())["run_ms"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    library = args.build / "tests/libhlo_custom_calls.so"
    print(f"{'program':<12} {'call':>10} {'background':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        both = zip(programs("false"), programs("true"))
        for (name, as_call, flags), (_, beside, _) in both:
            paths, times = [], ([], [])
            for wish, text in (("false", as_call), ("true", beside)):
                paths.append(pathlib.Path(folder) / f"{name}-{wish}.hlo")
                paths[-1].write_text(text)
            for _ in range(args.rounds):
                for path, found in zip(paths, times):
                    found.append(milliseconds(args, path, flags, library))
            call, background = map(statistics.median, times)
            print(f"{name:<12} {call:>7.3f} ms {background:>9.3f} ms {call / background:>7.2f}")


if __name__ == "__main__":
    main()
