#include "passes/layout/sub_byte_size_setter.h"

#include "passes/layout/sub_byte_sizes.h"

namespace hlo {

absl::StatusOr<bool> SubByteSizeSetter::Run(Module& module, PassContext& context) {
  return SetElementSizes(module, context, [](ElementType type) {
    return IsSubByte(type) ? int64_t{BitWidth(type)} : int64_t{0};
  });
}

HLO_DEFINE_PASS(SubByteSizeSetter)

}  // namespace hlo
