// How often a loop fusion computes elements of its operands.
//
// An emitter keeps what it has computed for an index. An instruction that passes its own index on
// to an operand (the same shape, or a transpose) asks for nothing new; any other, such as a slice,
// makes an index of its own for each one that it is asked for:
//
//   fusion { s = slice(x)   t = slice(x)   r = add(s, t) }     x: 2     s, t: 1
//
// Chains of those multiply, so that a fusion that takes in too much grows without bound.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"

namespace hlo {

// More indices than these are too many to compute an instruction for.
inline constexpr int64_t kMostIndices = 15;

// Emitted with a loop or branches of its own, after which values are computed again.
bool IsForgetful(Opcode opcode);

class IndexEvaluation {
 public:
  explicit IndexEvaluation(const Instruction& fusion);

  // For how many indices the fusion computes an element of its operand `producer`.
  int64_t IndicesOf(const Instruction& producer) const;
  // For how many it computes the instruction inside that it computes most often.
  int64_t MostIndices() const;
  // Whether `producer` would be repeated too often inside: more than 15 times; more than once when
  // it makes an emitter forget what it has computed. Broadcasts cost nothing.
  bool IsTooOften(const Instruction& producer) const;
  // The fusion has taken in its operand `producer`, as `inside`.
  void TakenIn(const Instruction& producer, const Instruction& inside);

 private:
  using Makers = absl::flat_hash_set<const Instruction*>;
  void PassOn(const Instruction& instruction, const Makers& makers, const Instruction& operand,
              Makers& of_operand) const;
  int64_t Sum(const Makers& makers) const;

  // What makes indices for an operand of the fusion: instructions inside, or the fusion itself.
  absl::flat_hash_map<const Instruction*, Makers> makers_;
  // For how many indices an instruction inside is computed; 1 for the fusion.
  absl::flat_hash_map<const Instruction*, int64_t> indices_;
};

}  // namespace hlo
