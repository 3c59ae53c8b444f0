// Makes one collective of several that agree: the frame of the combining passes.
//
// Members of one group have the same key and are in domains of the same sharding. They are combined
// in post-order as long as both limits hold and none needs another; the first gives channel and
// attributes, all of them metadata and frontend attributes (merge_notes.h), but for permutes.
// Left alone: computations whose domains contradict each other; collectives of several
// arrays, with control edges, of a scheduling group, or larger than the limit alone.
#pragma once

#include <functional>
#include <string>

#include "passes/pass.h"

namespace hlo {

struct CombineLimits {
  int64_t bytes = 0;  // of the results of one combined collective
  int64_t count = 0;  // of its members
  bool in_loops = true;
};

// What must agree; empty: the collective is left alone.
using CombineKey = std::function<std::string(const Instruction&)>;

absl::StatusOr<bool> CombineCollectives(Module& module, Opcode opcode, const CombineKey& key,
                                        const CombineLimits& limits, PassContext& context);

}  // namespace hlo
