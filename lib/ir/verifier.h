// Checks that a module is what every pass and back end may rely on. The list of rules stands at the top of verifier.cc,
// verify_ops.cc and verify_control.cc. Reports up to `max_errors` located messages.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

struct VerifierOptions {
  bool layout_sensitive = false;      // operand and result layouts must agree where the opcode requires it
  bool allow_mixed_precision = true;  // float operands of different widths
  int max_errors = 10;
};

absl::Status Verify(const Module& module, const VerifierOptions& options = {});

}  // namespace hlo
