// A computation as one operation: what a reduction, a scatter or a collective does with two values.
//
//   (x, y) -> maximum(x, y)     maximum; commutative, associative, idempotent; identity -inf
//   (x, y) -> subtract(y, x)    subtract, swapped
//   (x, y) -> add(x, x)         no operation on the two
//
// What is asked is the text of the region: its root is the operation and reads the two parameters
// directly. Regions that go by way of conversions or calls are none; the interpreter compiles those
// by itself (lib/eval/region.h), on purpose without the analyses that it is to check. Questions are
// O(1).
#pragma once

#include <optional>
#include <string>

#include "lib/ir/module.h"

namespace hlo {

struct RegionOperation {
  Opcode opcode;
  bool swapped = false;  // opcode(parameter 1, parameter 0)
};

// The operation of a region of two parameters; none if it is more or something else.
std::optional<RegionOperation> OperationOf(const Computation& region);
// Its opcode if it is commutative: then the order of the two does not count.
std::optional<Opcode> CombinerOpcode(const Computation& combiner);

// Whether combining a value with itself gives that value.
bool IsIdempotent(Opcode opcode);
// The scalar that every value of `type` keeps all its bits by when combined with it; none if there
// is no such value. For sums of floats it is -0: +0 makes +0 of -0.
std::optional<Literal> IdentityOf(Opcode opcode, ElementType type);
// Whether `init`, a constant or a broadcast of one, is the value that reductions by
// `opcode` usually start with, which changes nothing; of a sum that is +0, which a sum that
// starts with it keeps.
bool IsIdentityOf(Opcode opcode, const Instruction& init);

// Whether a reduction gives the same where its initial values are combined several times: each is
// an identity, or the region only chooses.
bool MayStartAgain(const Instruction& reduce);

// A line for each computation that is called as part of an operation.
std::string RegionsToString(const Module& module);

}  // namespace hlo
