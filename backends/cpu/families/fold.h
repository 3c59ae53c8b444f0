// backends/cpu/families/fold.h
//
// How the elements of a reduction are combined, and in which types the results so far are carried:
//
//   sums and products of floats                 as lib/math/accumulator.h says, rounded once
//   choices among elements of equal rank        with the position of what was chosen,
//                                               where elements are combined in another
//                                               order than they stand in
//   all others                                  as the region says
#pragma once

#include <vector>

#include "backends/cpu/families/fusion_emitter.h"
#include "lib/analysis/region.h"
#include "lib/eval/choice.h"

namespace hlo::cpu {

class Fold {
 public:
  // Of a reduce or a reduce-window.
  Fold(FusionEmitter& emitter, const Instruction& reduce);

  // Whether it adds up numbers in f32, which a long sum is not close in.
  bool AddsF32() const { return simple_ == Opcode::kAdd && carried_ == ElementType::kF32; }
  // What a sum begins with, or one more.
  Value Nothing() const;
  // Carries a sum in f64 that would be carried in f32. To be said before anything is carried.
  void CarryLong();
  // An element or initial value as it is carried, and back.
  Value Carried(Value value) const;
  Values Results(Values carried) const;

  // Lets the elements be shared out among lanes and loops: what each of them begins with, given
  // the initial values; nothing where elements must be combined one after the other. From then on
  // values carry their position after them, if positions decide.
  std::optional<Values> StartsOfLanes(const Values& initial, int64_t elements);
  // The number of carried values.
  size_t count() const { return count_ + (has_positions() ? 1 : 0); }
  bool has_positions() const { return ties_ != TieOrder::kAny; }
  // The position of the element at `place` among all elements.
  Value Position(const FusionEmitter::Address& place) const;

  // `a` stands before `b`; the second one finds out by the positions, if they decide.
  absl::StatusOr<Values> CombineInOrder(Values a, const Values& b) const;
  absl::StatusOr<Values> Combine(Values a, Values b) const;
  // All lanes as one.
  absl::StatusOr<Values> Lanes(Values values) const;

 private:
  bool is_wide() const { return carried_ != type_; }
  Value HasBitsOf(Value x, Value y) const;

  FusionEmitter& emitter_;
  tile::TileBuilder& b_;
  const Computation& region_;
  size_t count_;
  ElementType type_;     // of the first element
  ElementType carried_;  // of the first value on the way
  std::optional<Opcode> simple_;
  TieOrder ties_ = TieOrder::kAny;
};

}  // namespace hlo::cpu
