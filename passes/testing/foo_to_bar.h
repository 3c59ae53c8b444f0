// Renames instructions called `foo` to `bar`: a pass that does the least possible, for
// tests of the tools.
//
//   foo = f32[] negate(x)      =>   bar = f32[] negate(x)
//
// A name that is taken gets a number. The value of the module does not change, its text does.
#pragma once

#include "passes/pass.h"

namespace hlo {

class FooToBar final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

// Renames every instruction called `from`; returns whether there was one.
bool RenameInstructions(Module& module, PassContext& context, std::string_view from,
                        std::string_view to);

}  // namespace hlo
