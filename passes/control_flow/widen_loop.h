// Lets a loop carry more.
//
//   w = while(t), condition=c, body=b          =>   u = tuple(gte(t, 0), …, gte(t, n-1), x)
//                                                   w' = while(u), condition=wide.c, body=wide.b
//                                                   w = tuple(gte(w', 0), …, gte(w', n-1))
//
// The computations of the wider loop are new and named as XLA names them; the old ones stay for
// dce. Tuples that are built and taken apart again stay for tuple-simplifier.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/util/carry_more.h"

namespace hlo {

struct WidenedLoop {
  Instruction* loop;
  // In the new body: the reads of what was added.
  std::vector<Instruction*> added;
  // What each instruction of the old body became.
  absl::flat_hash_map<const Instruction*, Instruction*> body_copies;
};

// Replaces `loop`, whose state is a tuple, by one that also carries `values`, of its computation,
// from one iteration to the next as they are.
absl::StatusOr<WidenedLoop> WidenLoop(Instruction* loop, const std::vector<Instruction*>& values);

}  // namespace hlo
