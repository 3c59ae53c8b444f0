#include "passes/layout/sub_byte_size_removal.h"

#include "passes/layout/sub_byte_sizes.h"

namespace hlo {

absl::StatusOr<bool> SubByteSizeRemoval::Run(Module& module, PassContext& context) {
  return SetElementSizes(module, context, [](ElementType) { return int64_t{0}; });
}

HLO_DEFINE_PASS(SubByteSizeRemoval)

}  // namespace hlo
