// Writes the custom calls Qr and ProductOfElementaryHouseholderReflectors as loops over columns and
// matrix products.
//
//   q = (f32[9,4], f32[4]) custom-call(a), custom_call_target="Qr"
//       =>   q = (f32[9,4], f32[4]) call(a), to_apply=xla.qr_f32_9_4
//
// By blocks of `block_size` columns, from the left: the columns of a block are reduced one by one
// by reflectors I - tau v vᴴ, as LAPACK's geqrf does (the signs of the diagonal are its); then the
// columns right of the block see them all at once. The product begins with the last block.
//
// Requires: nothing.  Ensures: neither call outside fusion bodies, of f32, f64, c64, c128 and
// static shapes.  Rounding differs from that of a library.
#pragma once

#include "passes/expand/outlining_expander.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct QrExpanderOptions {
  IntIn<1> block_size{128};

  HLO_OPTIONS(QrExpanderOptions, block_size)
};

class QrExpander final : public WithOptions<OutliningExpander, QrExpanderOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  Opcode Root() const override { return Opcode::kCustomCall; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& call) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& call,
                                     const std::vector<Instruction*>& operands,
                                     Builder& builder) const override;

 private:
  absl::StatusOr<Instruction*> Factor(Instruction* a, const Instruction* origin, Builder& b) const;
  absl::StatusOr<Instruction*> Product(Instruction* a, Instruction* taus, const Instruction* origin,
                                       Builder& b) const;
};

}  // namespace hlo
