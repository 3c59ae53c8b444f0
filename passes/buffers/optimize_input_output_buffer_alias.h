// Lets results take the memory of parameters that the caller donates.
//
//   buffer_donor={ (0, {}) }, (f32[8] p0, s32[8] p1) -> (s32[8], f32[3])      =>   input_output_alias={ {0}: (0, {}, may-alias) }
//
// Arrays of the parameters and of the result are paired when they have the same number of bytes
// and the same memory space, larger ones first; element types may differ. A donor that is paired
// is no donor any more.
//
// Options: with `registered_buffer_donor_only` off, every array of the parameters that is not
// aliased yet may be taken.
//
// Requires: nothing.  Changes nothing but the module's configuration.  Leaves alone: modules with a
// dynamic result; dynamic parameters.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct OptimizeInputOutputBufferAliasOptions {
  bool registered_buffer_donor_only = true;

  HLO_OPTIONS(OptimizeInputOutputBufferAliasOptions, registered_buffer_donor_only)
};

class OptimizeInputOutputBufferAlias final
    : public WithOptions<Pass, OptimizeInputOutputBufferAliasOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
