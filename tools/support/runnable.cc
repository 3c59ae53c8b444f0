#include "tools/support/runnable.h"

#include "lib/ir/verify_meaning.h"
#include "tools/support/tool_support.h"

namespace hlo {

absl::Status VerifyRunnable(const Module& module) {
  RETURN_IF_ERROR(Verify(module, Runnable()));
  return VerifyMeaning(module);
}

}  // namespace hlo
