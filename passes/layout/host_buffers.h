// Finds what a dynamic update in the memory of the host writes into, and puts that there.
//
//   b = f32[4,8]{1,0} broadcast(zero)
//   w = while(tuple(i, b)), body: … p{1}, updated       =>   b = custom-call(), "AllocateBuffer"
//
// Goes from the updated operand up through tuples, loops, calls and earlier updates, marking the
// places on the way, to broadcasts, each read by others, too, perhaps: they keep it.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "passes/layout/host_walk.h"

namespace hlo {

class HostBuffers {
 public:
  explicit HostBuffers(HostWalk& walk) : walk_(walk) {}

  // An array in the memory of the host, wherever its operand lies.
  void AddSource(const Instruction* copy) { sources_.insert(copy); }
  // Of operand 0 of `update`. Error: some array that is not the host's and no broadcast.
  absl::Status Find(Instruction* update);

 private:
  struct Wanted {
    HostEdge edge;
    ShapeIndex index;  // in the value
  };
  absl::Status Take(const Wanted& wanted, const Instruction& update);
  absl::Status TakeParameter(const HostPlace& place, const Instruction& update);
  void Want(const HostEdge& edge, const ShapeIndex& index) { pending_.push_back({edge, index}); }
  void WantRoot(Computation* computation, const ShapeIndex& index) {
    Want({nullptr, 0, computation}, index);
  }
  void PassOn(const HostPlace& place);
  void Allocate(const HostEdge& edge);
  void CopyToHost(const HostEdge& edge);
  void TakeAllocation(const HostEdge& edge);

  HostWalk& walk_;
  absl::flat_hash_set<const Instruction*> sources_;                        // looked up only
  absl::flat_hash_set<std::pair<const Instruction*, ShapeIndex>> passed_;  // looked up only
  std::vector<Wanted> pending_;
};

}  // namespace hlo
