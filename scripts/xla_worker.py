#!/usr/bin/env python3
"""Runs HLO texts on XLA:CPU for hlo-fuzz --oracle, which talks to it through pipes.

A request is the line `TEXT_BYTES ARGUMENTS`, the text, and for each argument the line `TYPE DIM…` and its values, one in so many bytes
as the type needs. The answer is the line `ok OUTPUTS` and the outputs in the same form, or the line `no REASON`. When XLA aborts, so
does this process. $XLA_WORKER_LOG names a file that gets a line `ok` or `no REASON` for each request. Needs `pip install jax==0.10.2 jaxlib==0.10.2`; the text goes to XLA as StableHLO, the only form its Python takes.
"""

import os
import sys

os.environ.setdefault("PJRT_NPROC", "1")

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy  # noqa: E402
from jaxlib import _hlo, _jax, xla_client  # noqa: E402

TYPES = {"pred": numpy.bool_, "bf16": ml_dtypes.bfloat16, "c64": numpy.complex64, "c128": numpy.complex128,
         "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
TYPES.update({f"{letter}{bits}": numpy.dtype(f"{name}{bits}") for letter, name in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)})
TYPES.update({f"{letter}{bits}": getattr(ml_dtypes, f"{name}{bits}") for letter, name in (("s", "int"), ("u", "uint")) for bits in (2, 4)})
TYPES.update({text: getattr(ml_dtypes, "float" + rest) for text, rest in (
    ("f4e2m1fn", "4_e2m1fn"), ("f8e3m4", "8_e3m4"), ("f8e4m3", "8_e4m3"), ("f8e4m3b11fnuz", "8_e4m3b11fnuz"), ("f8e4m3fn", "8_e4m3fn"),
    ("f8e4m3fnuz", "8_e4m3fnuz"), ("f8e5m2", "8_e5m2"), ("f8e5m2fnuz", "8_e5m2fnuz"), ("f8e8m0fnu", "8_e8m0fnu"))})
NAMES = {numpy.dtype(dtype): name for name, dtype in TYPES.items()}


def read_array(stream):
    name, *dims = stream.readline().decode().split()
    shape = [int(dim) for dim in dims]
    dtype = numpy.dtype(TYPES[name])
    data = stream.read(dtype.itemsize * int(numpy.prod(shape, dtype=numpy.int64)))
    return numpy.frombuffer(data, dtype=dtype).reshape(shape)


def options():
    """Each program runs once: optimised code would cost more than it saves."""
    chosen = xla_client.CompileOptions()
    debug = chosen.executable_build_options.debug_options
    debug.xla_backend_optimization_level = 0
    debug.xla_llvm_disable_expensive_passes = True
    return chosen


def run(text, arguments, device):
    module = _hlo.hlo_module_from_text(text)
    code = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    executable = device.client.compile_and_load(code, _jax.DeviceList((device,)), options())
    buffers = [jax.device_put(a, device) for a in arguments]
    outputs = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [numpy.asarray(pieces[0]) for pieces in outputs]


def data_of(array):
    """A byte for each number of few bits, with its sign in all of them: in memory the upper ones are not defined."""
    return array.astype(numpy.int8) if NAMES[array.dtype] in ("s2", "s4") else array


def main():
    jax.config.update("jax_enable_x64", True)
    device = jax.devices("cpu")[0]
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    log = open(os.environ.get("XLA_WORKER_LOG", os.devnull), "a", buffering=1)  # noqa: SIM115: as long as the process
    while line := source.readline():
        text_bytes, count = (int(word) for word in line.split())
        text = source.read(text_bytes).decode()
        try:
            arguments = [read_array(source) for _ in range(count)]
            outputs = run(text, arguments, device)
        except Exception as error:  # what XLA refuses comes in many classes
            answer = f"no {' '.join(str(error).split())[:300]}\n"
            sink.write(answer.encode())
            log.write(answer)
        else:
            log.write("ok\n")
            sink.write(f"ok {len(outputs)}\n".encode())
            for output in outputs:
                dims = "".join(f" {dim}" for dim in output.shape)
                sink.write(f"{NAMES[output.dtype]}{dims}\n".encode() + numpy.ascontiguousarray(data_of(output)).tobytes())
        sink.flush()


if __name__ == "__main__":
    main()
