"""Prints a module that sorts 64 rows by a key, with 48 complex numbers of 16 bytes each that follow it: a block sorts them in 49664 bytes of
shared memory, more than a kernel may declare."""

PAYLOADS = 48
TYPES = ["f32"] + ["c128"] * PAYLOADS
pairs = [(kind, 2 * i + side) for i, kind in enumerate(TYPES) for side in (0, 1)]
print("HloModule wide_sort\n\nbefore {")
print("\n".join(f"  p{i} = {kind}[] parameter({i})" for kind, i in pairs))
print("  ROOT r = pred[] compare(p0, p1), direction=LT\n}\n\nENTRY main {")
print("\n".join(f"  x{i} = {kind}[64] parameter({i})" for i, kind in enumerate(TYPES)))
shape = ", ".join(f"{kind}[64]" for kind in TYPES)
operands = ", ".join(f"x{i}" for i in range(len(TYPES)))
print(f"  ROOT s = ({shape}) sort({operands}), dimensions={{0}}, is_stable=true, to_apply=before\n}}")
