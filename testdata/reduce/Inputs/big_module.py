#!/usr/bin/env python3
"""Prints a module of about 2,000 instructions, one of which is a cbrt: in a function that is called from a loop.

The rest is a web of arrays, each made of some of the last ones, so that nearly everything depends on the cbrt and the cbrt on
nearly everything before it. The same on every machine. Standard library only.
"""

COUNT = 1900
UNARY = ["tanh", "negate", "logistic", "cosine", "abs", "sine"]
BINARY = ["add", "subtract", "maximum", "multiply", "minimum"]


def main():
    state = 1

    def draw(limit):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % limit

    lines = ["  x0 = f32[8,16]{1,0} parameter(0), metadata={op_name=\"x\"}", "  x1 = f32[8,16]{1,0} parameter(1)",
             "  x2 = f32[8,16]{1,0} parameter(2)"]
    last = ["x0", "x1", "x2"]

    def emit(name, text):
        lines.append(f"  {name} = f32[8,16]{{1,0}} {text}")
        last.append(name)

    def earlier():
        return last[-1 - draw(min(len(last), 40))]

    for i in range(COUNT):
        if i == COUNT // 2:
            a, b = earlier(), earlier()
            lines.append("  steps = s32[] constant(5)")
            lines.append(f"  state = (s32[], f32[8,16], f32[8,16]) tuple(steps, {a}, {b})")
            lines.append("  loop = (s32[], f32[8,16], f32[8,16]) while(state), condition=goes_on, body=step")
            emit("result", "get-tuple-element(loop), index=1")
            emit("other", "get-tuple-element(loop), index=2")
            emit("mixed", "subtract(result, other)")
        elif i % 3 == 0:
            emit(f"v{i}", f"{UNARY[draw(len(UNARY))]}({earlier()})")
        elif i % 50 == 7:
            emit(f"v{i}", f"call({earlier()}, {earlier()}), to_apply=mean")
        else:
            emit(f"v{i}", f"{BINARY[draw(len(BINARY))]}({earlier()}, {earlier()}), metadata={{op_name=\"op{i}\"}}")
    outputs = [last[-1], last[-100], "mixed", last[200]]
    lines.append("  ROOT out = (" + ", ".join(["f32[8,16]"] * 4) + f") tuple({', '.join(outputs)})")

    print("""HloModule big

mean {
  a = f32[8,16]{1,0} parameter(0)
  b = f32[8,16]{1,0} parameter(1)
  sum = f32[8,16]{1,0} add(a, b)
  half = f32[] constant(0.5)
  halves = f32[8,16]{1,0} broadcast(half), dimensions={}
  ROOT m = f32[8,16]{1,0} multiply(sum, halves)
}

root_of {
  p = f32[8,16]{1,0} parameter(0)
  small = f32[8,16]{1,0} tanh(p)
  c = f32[8,16]{1,0} cbrt(small)
  ROOT same = f32[8,16]{1,0} copy(c)
}

goes_on {
  state = (s32[], f32[8,16], f32[8,16]) parameter(0)
  left = s32[] get-tuple-element(state), index=0
  zero = s32[] constant(0)
  ROOT more = pred[] compare(left, zero), direction=GT
}

step {
  state = (s32[], f32[8,16], f32[8,16]) parameter(0)
  left = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  fewer = s32[] subtract(left, one)
  value = f32[8,16] get-tuple-element(state), index=1
  shift = f32[8,16] get-tuple-element(state), index=2
  rooted = f32[8,16] call(value), to_apply=root_of
  next = f32[8,16] add(rooted, shift)
  ROOT result = (s32[], f32[8,16], f32[8,16]) tuple(fewer, next, shift)
}

ENTRY main {""")
    print("\n".join(lines))
    print("}")


if __name__ == "__main__":
    main()
