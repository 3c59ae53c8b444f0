// An expander that makes a computation of each expansion and calls it, the same one for
// instructions that are expanded alike.
//
//   x = f32[9,9] cholesky(a)          x = f32[9,9] call(a), to_apply=xla.cholesky_f32_9_9_lower
//   y = f32[9,9] cholesky(b)    =>    y = f32[9,9] call(b), to_apply=xla.cholesky_f32_9_9_lower
//
// Visits what ExpanderPass (passes/expander.h) visits; sharding, metadata and control edges
// move to the call. For expansions that are large: `call-inliner` puts them in place where
// there is one call only.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class OutliningExpander : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) final;

 protected:
  // The opcode that Matches is asked about.
  virtual Opcode Root() const = 0;
  virtual bool Matches(const Instruction& instruction) const = 0;
  // The name of the computation. Instructions of equal names share one: it tells
  // shapes and attributes.
  virtual std::string Name(const Instruction& instruction) const = 0;
  // What is passed to it: the operands, if nothing else is said.
  virtual std::vector<Instruction*> Arguments(const Instruction& instruction,
                                              Rewriter& rewriter) const;
  // The value of `instruction`, given the arguments as parameters of the new computation.
  virtual absl::StatusOr<Instruction*> Build(const Instruction& instruction,
                                             const std::vector<Instruction*>& arguments,
                                             Builder& builder) const = 0;

 private:
  absl::Status Fill(Computation& expansion, const Instruction& instruction,
                    const std::vector<Instruction*>& arguments) const;
};

// The element type and the sizes as a part of a name: "f32_9_9".
std::string NamePart(Shape shape);

}  // namespace hlo
