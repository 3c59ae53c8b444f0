// Checks the module and changes nothing; what is wrong is the error. The rules are listed in
// lib/ir/verifier.cc.
//
// The pass manager verifies after every pass by itself; this pass is for checks with other options,
// such as layouts:
//
//   --passes=layout-assignment,hlo-verifier{layout_sensitive}
#pragma once

#include "passes/pass.h"

namespace hlo {

struct HloVerifierOptions {
  bool layout_sensitive = false;
  bool allow_mixed_precision = false;
  int64_t max_errors = 10;

  static auto Fields() {
    return std::tuple{Optional("layout_sensitive", &HloVerifierOptions::layout_sensitive),
                      Optional("allow_mixed_precision", &HloVerifierOptions::allow_mixed_precision),
                      Optional("max_errors", &HloVerifierOptions::max_errors)};
  }
};

class HloVerifier final : public Pass {
 public:
  using Options = HloVerifierOptions;
  explicit HloVerifier(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
