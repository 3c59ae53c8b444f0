// Checks that a module is what every pass and back end may rely on. The rules are listed at the top
// of verifier.cc (the graph), verify_ops.cc (single instructions), verify_control.cc (computations
// and their callers), verify_async.cc (operations in two halves), verify_collectives.cc (device
// groups) and verify_module.cc (entry layout, aliases, schedule). Reports up to `max_errors`
// located messages.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

struct VerifierOptions {
  bool layout_sensitive =
      false;  // operand and result layouts must agree where the opcode requires it
  bool allow_mixed_precision = true;  // float operands of different widths
  int max_errors = 10;
};

absl::Status Verify(const Module& module, const VerifierOptions& options = {});

}  // namespace hlo
