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
#include "lib/ir/builder.h"

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

// Whether CarryMore can do what WidenLoop does, in place: nobody else calls the computations of
// `loop`, they read its state element by element, and the body builds it, for the loop alone.
bool CanCarryMore(const Instruction& loop);

// Lets `loop` itself carry `values` as well. Returns the reads of them in its body, which hands
// them on.
absl::StatusOr<std::vector<Instruction*>> CarryMore(Instruction* loop,
                                                    const std::vector<Instruction*>& values);

// The elements of `tuple` that come first, as a tuple of their own.
Instruction* TuplePrefix(Builder& builder, Instruction* tuple, int64_t count);

// The elements of `tuple`, followed by `more`.
Instruction* TupleWithMore(Builder& builder, Instruction* tuple,
                           const std::vector<Instruction*>& more);

}  // namespace hlo
