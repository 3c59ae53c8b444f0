// Bodies of composite operations: such an operation is known by its name, what it calls only says
// what it means.
//
//   call(x), to_apply=body, is_composite=true
#pragma once

#include "absl/algorithm/container.h"
#include "lib/ir/module.h"
#include "lib/ops/attrs.h"

namespace hlo {

inline bool IsCompositeBody(const Computation& computation) {
  return absl::c_any_of(computation.callers(), [](const CallSite& site) {
    return site.caller->opcode() == Opcode::kCall && site.caller->attrs<CallAttrs>().is_composite;
  });
}

}  // namespace hlo
