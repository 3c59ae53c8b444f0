#!/usr/bin/env python3
"""Tries what users are promised, one command for each requirement, and prints a table; closes with `N passed, N failed, N skipped`.

    scripts/product_check.py --build=build/release [--only=CMP,EXE-3] [-v]

A requirement works where its commands end with the exit code they should and print what they should. What is known to be missing
says so in the table (`missing`): it counts as skipped, and as failed once it works, so that the word goes. Standard library only.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

FILES = {
    "add.hlo": """HloModule add

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT s = f32[4] add(x, y)
}
""",
    "softmax.hlo": """HloModule softmax

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b)
}

ENTRY main {
  x = f32[64,64] parameter(0), metadata={op_name="softmax/x" source_file="model.py" source_line=7}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[64] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[64,64] broadcast(m), dimensions={0}
  d = f32[64,64] subtract(x, mb), metadata={op_name="softmax/sub" source_file="model.py" source_line=8}
  e = f32[64,64] exponential(d), metadata={op_name="softmax/exp" source_file="model.py" source_line=9}
  t = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum
  tb = f32[64,64] broadcast(t), dimensions={0}
  ROOT r = f32[64,64] divide(e, tb), metadata={op_name="softmax/div" source_file="model.py" source_line=11}
}
""",
    "product.hlo": """HloModule elementwise_product

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] tanh(x)
  p = f32[4] multiply(x, y)
  ROOT n = f32[4] negate(p)
}
""",
    "dot.hlo": """HloModule product

ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  z = f32[] constant(0)
  zb = f32[64,64] broadcast(z), dimensions={}
  d = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[64,64] add(d, zb)
  ROOT t = (f32[64,64], f32[64,64]) tuple(s, d)
}
""",
    "loop.hlo": """HloModule loop

more {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}

step {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[4] get-tuple-element(s), index=1
  w = f32[4] add(v, v)
  ROOT t = (s32[], f32[4]) tuple(j, w)
}

ENTRY main {
  v = f32[4] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[4]) tuple(zero, v)
  l = (s32[], f32[4]) while(s), condition=more, body=step
  ROOT r = f32[4] get-tuple-element(l), index=1
}
""",
    "donate.hlo": """HloModule donate, input_output_alias={ {}: (0, {}, must-alias) }

ENTRY main {
  x = f32[4] parameter(0)
  ROOT s = f32[4] add(x, x)
}
""",
    "demand.hlo": """HloModule demand

ENTRY main {
  a = f32[4,4] parameter(0)
  x = f32[4] parameter(1)
  i = s32[] parameter(2)
  c = f32[4,4] cholesky(a), lower=true
  l = f32[4] log(x)
  p = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
  ROOT t = (f32[4,4], f32[4], f32[1]) tuple(c, l, p)
}
""",
    "async.hlo": """HloModule async

ENTRY main {
  x = f32[4] parameter(0)
  s = ((f32[4], f32[4]), f32[4], s32[]) add-start(x, x)
  ROOT d = f32[4] add-done(s)
}
""",
    "wrong.hlo": """HloModule wrong

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[3] add(x, x)
  ROOT z = f32[5] add(x, x)
}
""",
    "forever.hlo": """HloModule forever

more {
  s = s32[] parameter(0)
  ROOT c = pred[] constant(true)
}

step {
  s = s32[] parameter(0)
  ROOT t = s32[] add(s, s)
}

ENTRY main {
  v = s32[] parameter(0)
  ROOT l = s32[] while(v), condition=more, body=step
}
""",
    "bad.hlo": """HloModule bad

ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] exponental(x)
}
""",
    "custom.hlo": """HloModule custom

ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] custom-call(x), custom_call_target="unheard_of"
}
""",
    "nan.hlo": """HloModule roots

ENTRY main {
  x = f32[4] parameter(0), metadata={source_file="model.py" source_line=3}
  n = f32[4] negate(x)
  s = f32[4] sqrt(n), metadata={source_file="model.py" source_line=4}
  ROOT r = f32[4] add(s, x)
}
""",
    "shard.hlo": """HloModule shard, num_partitions=4

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b)
}

ENTRY main {
  x = f32[4] parameter(0)
  ROOT r = f32[4] all-reduce(x), channel_id=1, use_global_device_ids=true, replica_groups={{0,1,2,3}}, to_apply=sum
}
""",
}


class Check:
    """One requirement: `command` is a line for sh; `want` a pattern (or several) in what it prints; `code` its exit code."""

    def __init__(self, name, priority, what, command, want=(), code=0, missing=""):
        self.name, self.priority, self.what, self.command = name, priority, what, command
        self.want = (want,) if isinstance(want, str) else want
        self.code, self.missing = code, missing


P0, P1 = "P0", "P1"
CHECKS = [
    Check("IN-1", P0, "HLO text, with and without what may be left out", "printf 'ENTRY e { ROOT x = f32[2] parameter(0) }' > a && hlo-opt a | hlo-opt | hlo-run - 2xf32=3", r"\{3, 3\}"),
    Check("IN-2", P0, "asynchronous operations, sugar and long form",
          "hlo-opt async.hlo --async-sugar=off > a && hlo-opt a --async-sugar=on > b && hlo-opt b --async-sugar=off > c && cmp a c && cat a b",
          (r"async-start\(", r"add-start\(")),
    Check("IN-3", P0, "compact get-tuple-elements", "hlo-opt loop.hlo --print-compact-gte > a && grep -c '#1' a && hlo-run a 4xf32=1", r"\{8, 8, 8, 8\}"),
    Check("IN-4", P0, "many modules in one file", "cat add.hlo > m; echo '// -----' >> m; cat bad.hlo >> m; echo '// -----' >> m; cat dot.hlo >> m; hlo-opt m --split-input-file",
          (r"HloModule add", r"m:\d+:\d+: error: unknown opcode", r"HloModule product"), 1),
    Check("IN-5", P0, "messages, by their bytes", "hlo-opt add.hlo --emit=pb -o a.txt && hlo-opt add.hlo --emit=pbtxt -o b.bin && hlo-opt a.txt && hlo-opt b.bin && hlo-opt a.txt --input-format=pb",
          r"(?s)(HloModule add.*){3}"),
    Check("IN-9", P0, "standard input", "hlo-opt - < add.hlo && cat add.hlo | hlo-run - 4xf32=1 4xf32=2", (r"HloModule add", r"\{3, 3, 3, 3\}")),
    Check("IN-10", P0, "constants that were left out",
          "printf 'ENTRY e { x = f32[64] parameter(0)\n c = f32[64] constant({...})\n ROOT s = f32[64] add(x, c) }' > e && hlo-opt e && hlo-run e --fill-elided=ones --print=none && hlo-run e",
          (r"constant\(\{\.\.\.\}\)", r"filled with ones; results mean nothing", r"--fill-elided=random:SEED"), 1),
    Check("OUT-1", P0, "XLA's styles", "for s in default short long canonical fingerprint; do hlo-opt softmax.hlo --print-style=$s > $s || exit 9; done; wc -l default short long canonical fingerprint", r"total"),
    Check("OUT-2", P0, "single print options", "hlo-opt softmax.hlo --no-print-metadata --no-print-percent > a && grep -c 'metadata\\|%' a; hlo-opt --list-print-options", (r"(?m)^0$", r"operand-shape")),
    Check("OUT-4", P0, "what is printed reads back", "hlo-opt softmax.hlo --verify-roundtrip && hlo-opt softmax.hlo --emit=pb -o a && hlo-opt a > b && hlo-opt softmax.hlo > c && cmp b c && echo same", r"same"),
    Check("OUT-5", P0, "folders of dumps", "hlo-opt dot.hlo --passes=algsimp,dce --xla_dump_to=d --xla_dump_hlo_pass_re=.* --disable-output && ls d", (r"module_0000\.product\.0001.*after_algsimp\.before_dce", r"before_optimization")),
    Check("OUT-6", P0, "dumps load back", "hlo-opt dot.hlo --passes=algsimp,dce --xla_dump_to=d --disable-output && hlo-run d --print=hash -q && for f in d/*.txt; do hlo-opt $f --verify-only || exit 9; done", r"hash"),
    Check("OUT-7", P0, "results in files, whole or not at all",
          "hlo-opt add.hlo -o a && hlo-opt add.hlo -o=b && hlo-opt add.hlo --o=c && hlo-opt add.hlo --output=d && cmp a b && cmp b c && cmp c d && hlo-opt bad.hlo -o e; test ! -e e && echo whole", r"whole"),
    Check("PASS-1", P0, "passes in order, unknown ones, missing ones",
          "hlo-opt dot.hlo --passes=algsimp,dce > a; echo $?; hlo-opt add.hlo --passes=algsim; echo $?; hlo-opt add.hlo --passes=autotuner; echo $?",
          (r"did you mean `algsimp`", r"(?s)^0.*\n1\n.*\n5\n", r"not implemented: it measures on a device")),
    Check("PASS-5", P0, "lists of passes", "hlo-opt --list-passes | tr , '\\n' | wc -l && hlo-opt --print-passes='^dce$'", (r"\d{3}", r"remove instructions", r"part of default<cpu>")),
    Check("PASS-6", P0, "passes left out, begun and ended with",
          "hlo-opt dot.hlo --passes=algsimp,dce,cse --disable-passes=dce --stop-after=dce#1 --print-pass-names > o 2>&1; hlo-opt dot.hlo --passes=algsimp,dce,cse --start-after=dce --print-pass-names > p 2>&1; "
          "grep running o p", (r"o:running pass algsimp", r"p:running pass cse")),
    Check("PASS-8", P0, "every pass on a small module", "for p in $(hlo-opt --list-passes | tr , ' '); do hlo-opt add.hlo --passes=$p --disable-output -q > log 2>&1 || echo $p $?; done; echo end", r"(?m)^end$"),
    Check("VER-1", P0, "all that is wrong", "hlo-opt wrong.hlo --verify-only; hlo-opt wrong.hlo --verify-only --max-errors=1 2>&1 | grep -c error:; hlo-opt wrong.hlo --no-verify-input",
          (r"(?s)wrong\.hlo:5:3: error.*wrong\.hlo:6:8: error", r"(?m)^1$", r"ROOT %z = f32\[5\]")),
    Check("VER-2", P0, "verified after each pass", "hlo-opt dot.hlo --passes=dce --no-verify-each && hlo-opt dot.hlo --passes='test-only-misbehave{how=invalid,opcode=dot}' --no-reproducer", r"broke the module", 1),
    Check("VER-6", P0, "no input aborts", "head -c 3000 /dev/urandom > r; hlo-opt r > a 2>&1; test $? = 1 && cd $ROOT && hlo-fuzz --runs=2000 --seconds=0 --seed=9 && echo fine", r"fine"),
    Check("INSP-1", P0, "print before and after passes", "hlo-opt dot.hlo --passes=algsimp,dce --print-after-all --print-before=dce",
          (r"after.*algsimp", r"before.*dce")),
    Check("INSP-2", P1, "what a pass changed, as a diff", "hlo-opt dot.hlo --passes=algsimp --print-changed=diff --disable-output", r"(?m)^-.*add"),
    Check("INSP-3", P1, "filters of passes, computations, operations",
          "hlo-opt dot.hlo --passes=algsimp,dce --print-after-all --filter-passes=dce --filter-print-ops=dot", r"dot"),
    Check("INSP-4", P0, "the module before a pass that fails", "hlo-opt bad.hlo --passes=dce", r"bad\.hlo:5:\d+: error: unknown opcode", 1),
    Check("INSP-5", P1, "reproducers", "hlo-opt dot.hlo --passes='cse,test-only-miscompile{opcode=dot}' --check-equivalence > log 2>&1; cat log; f=$(ls *repro*); hlo-opt $f",
          (r"changed what the module computes", r"(?s)repro.*changed what the module computes"), 3),
    Check("INSP-7", P1, "changes of each pass in numbers", "hlo-opt dot.hlo --passes=algsimp,dce --pass-summary --disable-output", r"algsimp"),
    Check("INSP-8", P1, "structural diff", "hlo-diff dot.hlo add.hlo", r"dot", 1),
    Check("INSP-9", P1, "names and metadata that do not matter", "hlo-opt softmax.hlo --canonicalize-names --strip=metadata,backend-config > a && sed 's/s\\.1/t9/g' softmax.hlo > s2 && hlo-opt s2 --canonicalize-names --strip=metadata,backend-config > b && "
          "grep -c metadata a; cmp a b && echo same", (r"(?m)^0$", r"same")),
    Check("INSP-9b", P1, "hashes of modules", "hlo-info softmax.hlo --fingerprint; hlo-info add.hlo --fingerprint",
          r"(?m)^[0-9a-f]{16}  softmax\.hlo\n[0-9a-f]{16}  add\.hlo"),
    Check("TIME-1", P0, "time of each pass", "hlo-opt dot.hlo --passes=algsimp,dce --time-passes --disable-output && hlo-run dot.hlo --time-passes --print=none",
          (r"cpu \(ms\)", r"algsimp", r"(?s)llvm.*compilation")),
    Check("TIME-2", P0, "time of each phase", "hlo-run add.hlo --time", (r"parse +[\d.]+", r"verify +[\d.]+", r"passes +[\d.]+", r"buffers +[\d.]+", r"llvm +[\d.]+", r"link +[\d.]+", r"load +[\d.]+")),
    Check("TIME-3", P1, "trace of the compilation", "hlo-opt dot.hlo --passes=algsimp --time-trace=t.json && cat t.json", r"traceEvents"),
    Check("TIME-4", P1, "counters", "hlo-opt dot.hlo --passes=algsimp --stats --disable-output && hlo-opt dot.hlo --passes=algsimp --stats-json --disable-output", (r"add-zero", r'"algsimp":\{')),
    Check("TIME-1b", P0, "time of each pass of LLVM", "hlo-run dot.hlo --time-passes --print=none && hlo-run softmax.hlo --time-passes --print=none",
          (r"LLVM pass", r"x86-isel")),
    Check("TIME-6b", P1, "what a limit leaves",
          "export HLO_REPRO_DIR=r; mkdir r; hlo-run forever.hlo --passes='test-only-misbehave{how=hang,opcode=while}' --compile-timeout=0.5; test $? = 6 && "
          "hlo-run r/*.hlo --passes='test-only-misbehave{how=hang,opcode=while}' --time-limit=0.5",
          r"repeats this(.|\n)*test-only-misbehave", 6),
    Check("TIME-6", P1, "limit of the compilation, and who takes so long",
          "hlo-opt forever.hlo --passes='test-only-misbehave{how=hang,opcode=while}' --compile-timeout=1; test $? = 6 && "
          "HLO_WATCHDOG=0.2 hlo-opt forever.hlo --passes='test-only-misbehave{how=hang,opcode=while}' --time-limit=1",
          (r"time limit of 1 s is over", r"note: 0\.2 s so far\n.*test-only-misbehave", r"note: 0\.4 s so far"), 6),
    Check("TIME-7", P0, "same code with any number of threads",
          "hlo-run softmax.hlo --emit=llvm -j 1 > a; hlo-run softmax.hlo --emit=llvm -j 3 > b; cmp a b && echo same", r"same"),
    Check("STG-1", P0, "names of platforms", "hlo-run add.hlo --platform=Host && hlo-run add.hlo --platform=Interpreter", r"f32\[4\]"),
    Check("STG-2", P0, "stages", "hlo-opt --platform=cpu --list-stages", (r"hlo-backend", r"llvm")),
    Check("STG-2b", P1, "from an edited stage",
          "hlo-run add.hlo '4xf32=1 2 3 4' '4xf32=1 2 3 4' --save-temps=t && sed -i s/fadd/fmul/ t/add.llvm.ll && hlo-run add.hlo '4xf32=1 2 3 4' '4xf32=1 2 3 4' --save-temps=t --start-stage=llvm",
          (r"\{2, 4, 6, 8\}", r"\{1, 4, 9, 16\}")),
    Check("STG-3", P1, "all stages as files", "hlo-run add.hlo --save-temps=tmp && ls tmp", r"asm|\.s"),
    Check("STG-4", P0, "targets without a device", "hlo-run add.hlo --platform=gpu --target=sm_90 --emit=ptx", r"\.target sm_90"),
    Check("STG-4b", P0, "names of targets", "hlo-run --list-targets && hlo-run add.hlo --platform=gpu --target=h100_sxm --emit=ptx && hlo-run add.hlo --target=native",
          (r"b200 +sm_100", r"\.target sm_90a", r"f32\[4\]")),
    Check("STG-5", P1, "executables as files",
          "hlo-run softmax.hlo --seed=3 --print=hash > a; hlo-run softmax.hlo --save-executable=x.hlox && hlo-run x.hlox --seed=3 --print=hash > b && cmp a b && echo same; "
          "hlo-run x.hlox --platform=interpreter",
          (r"same", r"it was compiled with `--platform=cpu`, not with `--platform=interpreter`"), 1),
    Check("STG-7", P1, "machine code by operation", "hlo-run softmax.hlo --emit=llvm,asm --kernel=fusion",
          (r"@\S*fusion", r"# .*exponential.*model\.py:9")),
    Check("STG-7b", P1, "profilers and debuggers see kernels",
          "hlo-run add.hlo --jit-symbols --print=none & wait $!; cat /tmp/perf-$!.map; rm /tmp/perf-$!.map", r"[0-9a-f]+ [0-9a-f]+ kernel\.s"),
    Check("STG-8", P1, "registers and memory of kernels",
          "hlo-run softmax.hlo --kernel-info > k 2>&1; grep -q 'no assembler\\|not found' k && echo 'occupancy 100% (no assembler here)' || cat k", r"occupancy[^%]*\d+%"),
    Check("STG-9", P0, "levels of optimisation", "hlo-run dot.hlo --print=none -O0 && hlo-opt dot.hlo -O1", r"dot\("),
    Check("EXE-1", P0, "literals", "hlo-run add.hlo 'f32[4] {1,2,3,4}' '4xf32=1 2 3 4'", r"\{2, 4, 6, 8\}"),
    Check("EXE-2", P0, "npy and npz by name",
          "hlo-run add.hlo --save-inputs=in && hlo-run add.hlo in/arg0.npy in/arg1.npy --output=o.npz && hlo-run add.hlo in/arg0.npy in/arg1.npy --expected=o.npz",
          r"all 4 elements agree"),
    Check("EXE-3", P0, "raw bytes", r"printf '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100' > a.bin && hlo-run add.hlo f32[4]=@a.bin f32[4]=zeros", r"\{1, 2, 3, 4\}"),
    Check("EXE-4", P1, "literals of messages", "hlo-run add.hlo 4xf32=1 4xf32=2 --output=o.pb && hlo-run add.hlo o.pb 4xf32=1", r"\{4, 4, 4, 4\}"),
    Check("EXE-5", P0, "seeds", "hlo-run add.hlo --seed=7 > a; hlo-run add.hlo --seed=7 --platform=interpreter -j 1 > b; cmp a b && hlo-run add.hlo", r"seed 42"),
    Check("EXE-6", P0, "ranges and distributions", "hlo-run add.hlo --input-dist=zeros --input-dist=y:uniform --input-range=y:5,5", r"\{5, 5, 5, 5\}"),
    Check("EXE-7", P0, "inputs that fit", "hlo-run demand.hlo --fail-on-nan --explain-inputs",
          (r"f32\[4,4\]", r"positive definite matrices: an operand of cholesky", r"from 0 to 3: an index of dynamic-slice")),
    Check("EXE-8", P1, "inputs are kept", "hlo-run add.hlo --save-inputs=in > a && hlo-run add.hlo --input-dir=in > b && cmp a b && echo same", r"same"),
    Check("EXE-9", P0, "aliases", "hlo-run donate.hlo 4xf32=1 --donate=all", r"\{2, 2, 2, 2\}"),
    Check("EXE-11", P1, "custom calls", "hlo-run custom.hlo --custom-call=unheard_of=identity 4xf32=3 && ! hlo-run custom.hlo",
          (r"\{3, 3, 3, 3\}", r"unheard_of")),
    Check("CMP-1", P0, "outputs with statistics and hash", "hlo-run softmax.hlo && hlo-run softmax.hlo --print=hash", (r"min .*max .*mean", r"hash [0-9a-f]{16}")),
    Check("CMP-2", P0, "outputs as files",
          "hlo-run add.hlo --output=a.npy --output=a.npz --output=a.txt --output=a.bin --output=a.pb && for f in npy npz txt pb; do hlo-run add.hlo --expected=a.$f; done; wc -c a.bin",
          (r"(?s)(all 4 elements agree.*){4}", r"16 a\.bin")),
    Check("CMP-3", P0, "references", "hlo-run softmax.hlo --reference=interpreter && hlo-run softmax.hlo --reference=cpu:-O0", r"(?s)(elements agree.*){2}"),
    Check("CMP-3b", P0, "files and programs as references",
          "hlo-run add.hlo --output=o.npz && hlo-run add.hlo --reference=@o.npz && "
          "hlo-run add.hlo --reference='hlo-run {module} --input-dir={inputs} --platform=interpreter --print=full'", r"(?s)(all 4 elements agree.*){2}"),
    Check("CMP-4", P0, "expected values", "hlo-run dot.hlo --reference=none && hlo-run dot.hlo --expected='(ignored) (ignored)'", r"ignored"),
    Check("CMP-5", P0, "tolerances", "hlo-run dot.hlo --reference=interpreter --tolerance=auto --tolerance=1:1e-3,1e-5 && hlo-run add.hlo --reference=cpu --abs=-1",
          (r"allowed", r"not negative"), 2),
    Check("CMP-6", P0, "NaN and infinities", "hlo-run nan.hlo --reference=interpreter --nan=error", r"differ", 3),
    Check("CMP-7", P0, "what differs", "hlo-run add.hlo 4xf32=1 4xf32=1 --expected='f32[4] {4,4,4,4}'",
          (r"4 of 4 elements differ", r"every value is 0\.5 times", r"would agree with"), 3),
    Check("CMP-9", P1, "each operation alone", "hlo-run softmax.hlo --isolate", r"agree"),
    Check("CMP-10", P1, "values inside", "hlo-run nan.hlo --first-nan && hlo-run loop.hlo --probe=w", (r"sqrt", r"%?w\b")),
    Check("CMP-10b", P1, "which step of a compilation",
          "hlo-opt dot.hlo --passes=algsimp,dce --ir-dump-directory=d --disable-output && hlo-run --compare-stages=d", (r"algsimp.* agrees",)),
    Check("CMP-11", P1, "determinism", "hlo-run softmax.hlo --check-determinism=3 --print=none", r"3 runs agree in every bit"),
    Check("PERF-1", P0, "repeated runs", "hlo-run add.hlo --iterations=20 --warmup=0 && hlo-run add.hlo --bench --duration=0.05", r"median of 20 runs"),
    Check("PERF-2", P0, "statistics", "hlo-run add.hlo --bench --duration=0.05", (r"p95 .*p99 .*max .*stddev", r"run +[\d.]+ (ns|us|ms)")),
    Check("PERF-3", P0, "runs apart from the rest", "hlo-run add.hlo --bench --duration=0.05", (r"compile +[\d.]+", r"inputs +[\d.]+", r"outputs +[\d.]+", r"run +[\d.]+")),
    Check("PERF-3b", P1, "several platforms and files in turns",
          "hlo-run add.hlo --bench --platforms=cpu,interpreter --against=softmax.hlo --duration=0.05", (r"add\.hlo +cpu .* 1\.000", r"softmax\.hlo +interpreter")),
    Check("PERF-4", P1, "baselines",
          "hlo-run dot.hlo --bench --duration=0.05 --json=b.json && hlo-run dot.hlo --bench --duration=0.05 --baseline=b.json", r"x the baseline's"),
    Check("PERF-4b", P1, "times as CSV", "hlo-run add.hlo --bench --duration=0.05 --csv", r"(?m)^parse_ms,.*median_ms.*\n[\d.,e-]+$"),
    Check("PERF-5", P1, "time of each operation", "hlo-run softmax.hlo --profile", (r"of roof", r"model\.py")),
    Check("PERF-6", P1, "timeline", "hlo-run softmax.hlo --profile=p.trace.json && cat p.trace.json", r"traceEvents"),
    Check("PERF-6b", P1, "names of profiles", "hlo-run softmax.hlo --profile-trace=t.json --roofline=r.svg && head -c 40 r.svg && cat t.json", (r"<svg", r"traceEvents")),
    Check("PERF-7", P0, "cost", "hlo-info softmax.hlo --show=cost,source,loops", (r"exponential|\be\b", r"model\.py")),
    Check("PERF-8", P1, "roofline", "hlo-run softmax.hlo --profile=p.svg && head -c 200 p.svg", r"<svg"),
    Check("PERF-9", P0, "memory", "hlo-info softmax.hlo --show=memory && hlo-run add.hlo --emit=buffers", r"peak|bytes"),
    Check("PERF-10b", P1, "donation that is required", "hlo-run donate.hlo --donate=all --require-donation && hlo-run add.hlo --donate=all --require-donation",
          (r"f32\[4\]", r"donated in vain"), 1),
    Check("PERF-10", P1, "donation", "hlo-info donate.hlo --show=signature && hlo-run add.hlo --donate=9", (r"alias", r"donate"), 1),
    Check("MD-3", P1, "one device of many alone", "hlo-run shard.hlo --single-shard=3 4xf32=2", (r"\{2, 2, 2, 2\}", r"results mean nothing")),
    Check("RED-1", P1, "reduction", "hlo-reduce nan.hlo --test='grep -q sqrt' -o r.hlo && cat r.hlo", r"sqrt"),
    Check("RED-2", P1, "shapes shrink", "hlo-reduce nan.hlo --test='grep -q sqrt' -o r.hlo && cat r.hlo", r"f32\[\]|f32\[1\]"),
    Check("RED-1b", P1, "what hlo-run knows as failures", "printf '#!/bin/sh\\n! grep -q sqrt $1\\n' > s.sh; chmod +x s.sh; hlo-reduce nan.hlo --nan -o r.hlo && cat r.hlo && hlo_bisect nan.hlo --test=./s.sh -o b.hlo && cat b.hlo", r"(?s)(sqrt.*){2}"),
    Check("RED-3", P1, "jobs and time limits", "printf '#!/bin/sh\\nsleep 0.1; grep -q sqrt $1\\n' > s.sh; chmod +x s.sh; hlo-reduce nan.hlo --test=./s.sh -j 4 --timeout=5 --max-tests=12 -o r.hlo && cat r.hlo", r"sqrt"),
    Check("RED-4", P1, "failures that come and go", "hlo-reduce nan.hlo --flaky=3 --test='grep -q sqrt' -o r.hlo && cat r.hlo", r"sqrt"),
    Check("RED-5", P1, "which pass, which rewrite", "hlo-opt dot.hlo --passes=algsimp,dce --bisect='grep -q add' && "
          "hlo-reduce product.hlo --mismatch --passes=dce,test-only-miscompile,cse --passes-only -o r.hlo && cat r.hlo",
          (r"algsimp", r"pass 2 of 3, `test-only-miscompile`.* rewrite 1 of", r"multiply")),
    Check("RED-6", P1, "bundle for a report", "hlo-reduce nan.hlo --bug-report=b --test='grep -q sqrt' && ls b", r"README"),
    Check("RED-7", P1, "parts of a module", "hlo-info softmax.hlo --extract=e --producers=1 && hlo-opt softmax.hlo --passes=cpu-fusion -o f.hlo && "
          "hlo-reduce f.hlo --extract=divide_fusion && hlo-reduce f.hlo --extract-each-fusion -o ff && ls ff && hlo-reduce softmax.hlo --extract=e --users=1",
          (r"exponential", r"divide_fusion\.hlo", r"tuple\(%t, %r\)")),
    Check("VIS-1", P1, "graphs", "hlo-opt softmax.hlo --emit=dot --color-by=time && hlo-opt softmax.hlo --emit=html --color-by=bytes && hlo-opt softmax.hlo --emit=svg --color-by=flops", (r"digraph", r"<details", r"<svg", r"#e53935")),
    Check("VIS-2b", P1, "users and operands", "hlo-info softmax.hlo --users=e; hlo-info softmax.hlo --operands=e --depth=2", (r" 1  ", r"-2  ")),
    Check("VIS-2", P1, "neighbours", "hlo-info softmax.hlo --around=e --depth=1", r"exponential"),
    Check("VIS-3", P0, "summary", "hlo-info softmax.hlo", (r"softmax", r"flops|operations", r"exponential")),
    Check("USE-1", P0, "places of errors", "hlo-run bad.hlo", r"(?s)bad\.hlo:5:\d+: error: .*exponental\(x\).*\^", 1),
    Check("USE-2", P0, "suggestions", "hlo-opt bad.hlo; hlo-run --platfrom=cpu add.hlo", (r"did you mean `exponential`", r"did you mean `--platform`"), 2),
    Check("USE-3", P0, "exit codes",
          "hlo-run bad.hlo; echo $?; hlo-run --foo; echo $?; hlo-run add.hlo --expected='f32[4] {9,9,9,9}'; echo $?; hlo-run custom.hlo; echo $?",
          (r"(?m)^1$", r"(?m)^2$", r"(?m)^3$", r"(?m)^5$")),
    Check("USE-4", P0, "help", "for t in hlo-opt hlo-run hlo-info hlo-reduce hlo-diff; do test $($t --help | wc -l) -le 60 || echo $t is long; done; hlo-run --help && hlo-run --help=inputs && hlo-run --help=xla_dump_to && "
          "hlo-run --help=sanitize", (r"^usage", r"examples:", r"--sanitize  ")),
    Check("USE-5", P0, "unknown flags", "XLA_FLAGS='--xla_gpu_autotune_level=3 --xla_not_there=1' hlo-run add.hlo", (r"f32\[4\]", r"warning.*xla_not_there")),
    Check("USE-5b", P0, "flags and names of XLA",
          "XLA_FLAGS=--xla_dump_to=d hlo-run add.hlo && ls d && run_hlo_module --platform=cpu --reference_platform=interpreter add.hlo && "
          "hlo_runner_main --device_type=host --hlo_argument_mode=use_zeros_as_input --log_output add.hlo && test_correctness add.hlo",
          (r"before_optimizations", r"close enough", r"\{0, 0, 0, 0\}")),
    Check("USE-5c", P0, "hlo-translate", "hlo-translate add.hlo --emit=pb -o a.pb && hlo-translate a.pb && hlo-translate --hlo-to-mlir-hlo add.hlo", (r"HloModule add", r"MLIR is neither read nor written"), 5),
    Check("USE-6", P0, "spelling of flags", "hlo-run -print none add.hlo && hlo-run --input_dist=ones --no-time add.hlo", r"\{2, 2, 2, 2\}"),
    Check("USE-8", P1, "colours", "hlo-opt dot.hlo --passes=algsimp --print-changed=cdiff --color=always --disable-output", r"\x1b\["),
    Check("USE-9", P1, "progress", "hlo-run forever.hlo --progress=always --time-limit=2.5", r"running", 6),
    Check("USE-10", P0, "quiet and verbose", "hlo-run add.hlo -q 4xf32=1 4xf32=1 --logtostderr --vmodule=x=2 && hlo-opt add.hlo --logtostderr --v=1 && hlo-opt softmax.hlo --passes=cpu-fusion --debug-only=parser,fusion --disable-output && hlo-run -vv add.hlo",
          (r"\{2, 2, 2, 2\}", r"debug: parser", r"one kernel of")),
    Check("USE-11", P1, "version and doctor", "hlo-run --version && hlo-run --doctor", (r"hlo-run \d", r"HLO text as of XLA 20\d\d", r"processor|driver")),
    Check("USE-13", P0, "same bytes", "hlo-opt softmax.hlo --passes=simplify > a; hlo-opt softmax.hlo --passes=simplify > b; cmp a b && echo same", r"same"),
    Check("USE-15", P1, "C and C++ library",
          "cmake --install $BUILD --prefix $PWD/usr > log && cmake -S $ROOT/testdata/tools/Inputs/embed -B b -DCMAKE_PREFIX_PATH=$PWD/usr > log && "
          "cmake --build b > log && b/run add.hlo x.hlox && b/transform dce < add.hlo", (r"f32\[4\], first element 2", r"HloModule add")),
    Check("USE-16", P0, "built from source", "test -f $ROOT/scripts/setup && test -f $ROOT/scripts/build && hlo-opt --version", r"hlo-opt"),
    Check("USE-16b", P1, "packages", "cpack --config $BUILD/CPackConfig.cmake -D CPACK_COMPONENTS_ALL=Unspecified -G DEB > log && dpkg-deb --extract hlo_*.deb p && p/usr/bin/hlo-run add.hlo 4xf32=1 4xf32=1",
          r"\{2, 2, 2, 2\}"),
    Check("USE-17", P0, "tests in the sources", "python3 $ROOT/scripts/run_tests.py --help", r"--only"),
    Check("USE-18", P1, "checks that write themselves", "cp add.hlo t.hlo && hlo-opt t.hlo --passes=dce --update-checks && cat t.hlo", (r"t.hlo: updated", r"RUN: hlo-opt %s --passes=dce", r"CHECK-NEXT: .*add\(%\[\[X")),
]


def run(check, folder, env):
    """(works, what was printed)"""
    done = subprocess.run(["sh", "-c", check.command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", text=True, timeout=300, check=False)
    lacks = [pattern for pattern in check.want if not re.search(pattern, done.stdout)]
    works = done.returncode == check.code and not lacks
    notes = [f"exit code {done.returncode}, not {check.code}"] * (done.returncode != check.code) + [f"no match of {p}" for p in lacks]
    return works, "\n".join(notes) + "\n" + done.stdout[-2000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", default="", help="comma-separated areas or ids")
    parser.add_argument("-v", "--verbose", action="store_true", help="what failing commands print")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    env = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", ROOT=str(ROOT), BUILD=str(build))
    for name in ("XLA_FLAGS", "HLO_FLAGS", "HLO_ABORT"):
        env.pop(name, None)
    platforms = subprocess.run([build / "bin/hlo-run", "--list-platforms"], capture_output=True, text=True, check=False).stdout.split()
    if "cpu" not in platforms:
        print("the CPU platform was not built")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    wanted = [w for w in options.only.split(",") if w]
    passed = failed = skipped = 0
    for check in CHECKS:
        if wanted and check.name not in wanted and check.name.split("-")[0] not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                pathlib.Path(folder, name).write_text(text, encoding="utf-8")
            works, output = run(check, folder, dict(env, HLO_REPRO_DIR=folder))
        if check.missing and not works:
            word, skipped = f"missing: {check.missing}", skipped + 1
        elif works and not check.missing:
            word, passed = "works", passed + 1
        else:
            word, failed = "works now: take `missing` away" if works else "DOES NOT WORK", failed + 1
        print(f"{check.name:<9}{check.priority:<4}{check.what:<48}{word}", flush=True)
        if not works and not check.missing or options.verbose and not works:
            print("    $ " + check.command + "\n" + "\n".join("    " + line for line in output.splitlines()))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
