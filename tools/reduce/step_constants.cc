#include <algorithm>
#include <cmath>

#include "lib/ir/any_instruction.h"
#include "tools/reduce/edits.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

constexpr int64_t kLarge = 16;

std::vector<std::string> Constants(const Module& module, bool large) {
  std::vector<std::string> names;
  for (const Instruction* instruction : AllInstructions(module)) {
    if (!instruction->IsConstant() || !instruction->shape().IsArray()) continue;
    if ((instruction->shape().element_count() > kLarge) == large)
      names.emplace_back(instruction->name());
  }
  return names;
}

template <class Fn>
bool ForNamed(Module& module, std::span<const std::string> names, const Fn& fn) {
  bool changed = false;
  for (const std::string& name : names) {
    Instruction* constant = module.FindInstruction(name);
    if (constant != nullptr && constant->IsConstant()) changed |= fn(constant);
  }
  return changed;
}

bool ToParameter(Instruction* constant) {
  if (!constant->parent()->is_entry() || !constant->is_used()) return false;
  SubstituteParameter(constant);
  return true;
}

// constant({a, b, …})  =>  broadcast(a)
bool ToSplat(Instruction* constant) {
  const Shape shape = constant->shape();
  if (shape.rank() == 0 || shape.element_count() == 0) return false;
  Computation& computation = *constant->parent();
  Instruction* scalar = computation.AddConstant(constant->literal().ElementAt(0));
  Substitute(constant, computation.Add(Opcode::kBroadcast, shape, {scalar},
                                       AttrsPtr::Make(BroadcastAttrs{})));
  return true;
}

bool SetLiteral(Instruction* constant, Literal literal) {
  literal = literal.WithShapeLayout(constant->shape());
  if (literal == constant->literal()) return false;
  constant->SetAttrs(ConstantAttrs{std::move(literal)});
  return true;
}

bool IsSimple(const Literal& literal) { return literal.IsAll(0) || literal.IsAll(1); }

bool ToValue(Instruction* constant, double value) {
  if (constant->literal().is_elided() || IsSimple(constant->literal())) return false;
  return SetLiteral(constant, Literal::Filled(constant->shape(), value));
}

// Smaller integers, and floats without a fraction.
bool ToHalf(Instruction* constant) {
  const ElementType type = constant->shape().element_type();
  if (constant->shape().rank() != 0 || IsComplex(type) || constant->literal().is_elided())
    return false;
  const Literal& old = constant->literal();
  if (IsSimple(old)) return false;
  Literal literal(constant->shape());
  if (IsInteger(type)) {
    literal.SetInt(0, old.GetInt() / 2);
  } else if (IsFloat(type) && std::isfinite(old.GetDouble()) &&
             old.GetDouble() != std::trunc(old.GetDouble())) {
    literal.SetDouble(0, std::trunc(old.GetDouble()));
  } else {
    return false;
  }
  return SetLiteral(constant, std::move(literal));
}

// One constant in the place of several equal ones.
bool MergeConstants(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    std::vector<Instruction*> kept;
    for (Instruction* instruction : computation->instruction_vector()) {
      if (!instruction->IsConstant()) continue;
      const auto is_same = [&](const Instruction* other) {
        return other->shape() == instruction->shape() && other->literal() == instruction->literal();
      };
      const auto same = std::find_if(kept.begin(), kept.end(), is_same);
      if (same == kept.end()) {
        kept.push_back(instruction);
      } else {
        Substitute(instruction, *same);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

bool SimplifyConstants(Reducer& reducer) {
  reducer.set_step("constants");
  bool improved = false;
  const auto try_all = [&](bool large, const std::function<bool(Instruction*)>& edit) {
    improved |= reducer.TryChunks(
        Constants(reducer.best(), large),
        [&](Module& module, std::span<const std::string> names) {
          return ForNamed(module, names, edit);
        },
        /*are_instructions=*/false);
  };
  try_all(/*large=*/true, ToParameter);
  try_all(/*large=*/true, ToSplat);
  for (const double value : {0., 1.}) {
    try_all(/*large=*/false, [value](Instruction* constant) { return ToValue(constant, value); });
  }
  // Down to the smallest that still does: at most the bits of an integer.
  for (int round = 0; round < 64; ++round) {
    const bool before = improved;
    improved = false;
    try_all(/*large=*/false, ToHalf);
    const bool again = improved;
    improved |= before;
    if (!again) break;
  }
  improved |= reducer.Try(MergeConstants);
  return improved;
}

}  // namespace hlo
