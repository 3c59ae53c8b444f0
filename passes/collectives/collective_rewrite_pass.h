// Rules that leave collectives without readers.
//
// One with a channel counts as a side effect, for its counterparts wait for it: rewriting does not
// remove it, nor does `dce`. A pass that takes its counterparts away as well, all being one
// program, removes it.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// A RewritePass that removes the collectives that nobody reads any more.
class CollectiveRewritePass : public RewritePass {
 public:
  using RewritePass::RewritePass;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
