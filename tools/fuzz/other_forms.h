// Operations in another form, as passes and platforms compute them: equal where all numbers are
// finite, and infinite or NaN elsewhere.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Statistics are sums, which may overflow before they are divided; a convolution that sees padding
// multiplies zeros; a triangular solve may multiply by inverses, and has no number where the matrix
// is infinite.
bool HasOtherForm(const Instruction& instruction);

absl::Status WriteOtherForms(Module& module);

}  // namespace hlo
