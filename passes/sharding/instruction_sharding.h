// Shardings of instructions while they are propagated: of an array one leaf, of a tuple one for
// each leaf of its shape, all of them in the classic form (see ToClassicForms).
#pragma once

#include "lib/ir/custom_call.h"
#include "lib/ir/module.h"
#include "passes/sharding/sharding_merge.h"

namespace hlo {

// ---- trees ----
TiledSharding& LeafAt(Sharding& sharding, size_t i);
const TiledSharding& LeafAt(const Sharding& sharding, size_t i);
// Leaves in the sharding of a value: one for an empty tuple.
int64_t ShardingLeaves(Shape shape);
// Where those of an element of a tuple begin.
int64_t FirstLeafOf(Shape tuple, int64_t element);
Sharding ElementSharding(const Sharding& sharding, Shape tuple, int64_t element);
// Every leaf `leaf`.
Sharding Uniform(Shape shape, const TiledSharding& leaf);
// Some part is anywhere but on one device: worth telling others.
bool IsSpread(const Sharding& sharding);
// Of every leaf.
bool AllManual(const Sharding& sharding);
bool AllReplicated(const Sharding& sharding);
bool AllWhole(const Sharding& sharding);
bool AllUnknown(const Sharding& sharding);
bool SameSharding(const Sharding& a, const Sharding& b);
// Some leaf of `a` says more than that of `b`, and none less.
bool IsMoreSpecific(const Sharding& a, const Sharding& b);
// A better sharding for a value that has `existing` (null: none), by leaves; none if there is none.
std::optional<Sharding> Improved(Sharding proposed, const Sharding* existing, Shape shape,
                                 ImproveOptions options);

// Gives named shardings and single ones of tuples the form above.
void ToClassicForms(Sharding& sharding, Shape shape);

// ---- instructions ----
bool IsSpread(const Instruction& instruction);
// Whether it has a sharding that is manual.
bool IsManual(const Instruction& instruction);
// Of an array; null if it has none.
const TiledSharding* LeafSharding(const Instruction& instruction);
// Sets what is better; whether that changed something.
bool Improve(Instruction& instruction, const Sharding& proposed, ImproveOptions options);
bool Improve(Instruction& instruction, const TiledSharding& proposed, ImproveOptions options);
// The same for one element of a tuple of arrays; an array is its own only element.
bool ImproveElement(Instruction& instruction, int64_t element, TiledSharding proposed,
                    ImproveOptions options);

// As IsElementwise of the opcode, with those of which it depends on more.
bool IsElementwise(const Instruction& instruction);
// One user, the root of the computation not counted.
bool HasOneInnerUser(const Instruction& instruction);
// The first operand that this is, or -1.
int OperandNumber(const Instruction& user, const Instruction& operand);
// Equal but for layouts and element types.
bool SameTree(Shape a, Shape b);

}  // namespace hlo
