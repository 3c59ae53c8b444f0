// Which values can be bf16 instead of f32 because everything that reads them rounds them.
//
// What is one place in memory is of one type: leaves that tuples, calls, branches, fusions, loops
// and asynchronous operations hand on. All places are taken to be narrow until something speaks
// against it. Where two types meet all the same, a conversion has to be put (the Needs… questions):
//
//   what a loop starts with            a copy of its own, so that other readers do not count
//   operands of what keeps values      transpose(f32 x) is transpose(convert(x))
//   results that cannot be narrow      of called computations and fusions: a conversion at the end
//
// Options of the back end: float_support.h.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"
#include "passes/precision/float_support.h"

namespace hlo {

class NarrowPlaces {
 public:
  // `computations`: those of the module, callees first.
  NarrowPlaces(const std::vector<Computation*>& computations, const FloatSupport& support,
               const Module& module);

  const std::vector<Instruction*>& order() const { return order_; }
  // Whether leaf `leaf` of the result is f32 and to be bf16.
  bool IsNarrow(const Instruction& instruction, int64_t leaf);
  // The result, an array, is to be bf16, but the operation gives f32: it is to be converted.
  bool NeedsConversionAfter(const Instruction& instruction);
  // Operand `i`, an array, stays f32, but the operation takes bf16.
  bool NeedsConversionOf(const Instruction& instruction, int i);

 private:
  bool BelongsToRegion(const Computation& computation) const;
  bool CallsRegion(const Instruction& instruction) const;
  bool HasOwnRoot(const Instruction& fusion) const;

  size_t Find(size_t i);
  void Join(size_t a, size_t b);
  void JoinAll(const Instruction& value, const Instruction& other, int64_t at = 0);
  void JoinPlaces(const Instruction& instruction);
  void JoinAliases(const Instruction& fusion);
  void JoinAsync(const Instruction& instruction);
  void SetCallWide(const Instruction& instruction);
  bool SetWide(const Instruction& instruction);
  bool SetWide(const Instruction& instruction, int64_t leaf);

  void FindCandidates();
  bool IsCandidate(const Instruction& instruction) const;
  bool StaysWide(const Instruction& instruction) const;
  bool Mixes(const Instruction& instruction) const;
  bool CanGive(const Instruction& instruction);
  bool MayBeConverted(const Instruction& instruction) const;
  // Of those in order_.
  bool PassesOn(const Instruction& instruction) const { return passing_on_.contains(&instruction); }
  bool ReadsWide(const Instruction& instruction);
  bool Accepts(const Instruction& user, int i);

  void Solve();
  bool Check(const Instruction& instruction);
  bool CheckUnread(const Instruction& instruction);
  bool CheckPassedOn(const Instruction& instruction);
  bool CheckFusion(const Instruction& fusion);
  bool AnyNarrow(const Instruction& instruction);
  bool Revert(const Computation& fused);

  const FloatSupport& support_;
  absl::flat_hash_set<const Computation*> regions_;
  absl::flat_hash_set<const Instruction*> passing_on_;  // looked up only
  absl::flat_hash_set<const Instruction*> candidates_;  // looked up only
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, size_t> first_;  // looked up only
  std::vector<size_t> parent_;
  std::vector<bool> wide_;  // of representatives
};

}  // namespace hlo
