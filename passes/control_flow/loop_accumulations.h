// Which collectives of a loop's body could as well run once after the loop: sums of sums may be
// made in any order.
//
//   acc' = add(acc, all-reduce(x))                                 acc is an element of the state
//   buf' = dynamic-update-slice(buf, all-reduce(x), i, 0)          so is buf; i counts the iterations
//
// Between an all-reduce and the sum may be conversions, movement (reshape, transpose, bitcast,
// slice, broadcast), select(p, x, 0) with the same p on all devices, and multiplication by a
// broadcast of another all-reduce's scalar; between the element and the sum, and between that and
// the end of the body, conversions and reshapes, and a part of the element may be added to
// (dynamic-slice, dynamic-update-slice) where its start is the same on all devices. One all-reduce
// may be added to several elements. What a reduce-scatter gives is only added, or
// select(broadcast(p), x, 0).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/analysis/replication.h"
#include "passes/pass.h"

namespace hlo {

// Element `element` of the state only sums up what a collective gives, by the add `sum`.
struct Accumulation {
  int64_t element;
  Instruction* sum;
};

// The iterations together store what a collective gives in a region of element `element`.
struct StoredRegion {
  int64_t element;
  std::vector<int64_t> starts;
  Shape shape;
};

struct MovableReduce {
  Instruction* reduce;
  std::vector<Accumulation> sums;
  std::optional<StoredRegion> region;  // then no sums

  bool is_scatter() const { return reduce->opcode() == Opcode::kReduceScatter; }
};

// A scalar constant zero or a broadcast of one.
bool IsZeroValue(const Instruction& value);

class LoopAccumulations {
 public:
  struct Limits {
    bool with_scatter = false;
    int64_t max_region_bytes = 0;
  };
  LoopAccumulations(Module& module, Limits limits, PassContext& context);

  // Of the body that `loops` share and nothing else calls.
  std::vector<MovableReduce> Find(const std::vector<Instruction*>& loops);

 private:
  struct Path;
  std::optional<StoredRegion> FindRegion(const Instruction& reduce,
                                         const std::vector<Instruction*>& loops) const;
  std::vector<Accumulation> FindSums(const Instruction& reduce,
                                     const std::vector<Instruction*>& loops);
  bool PassesOn(const Instruction& user, const Instruction& value, const Instruction& reduce);
  std::optional<Accumulation> SumOf(Instruction* sum, const Instruction& buffer,
                                    const Instruction& reduce,
                                    const std::vector<Instruction*>& loops);
  bool IsSame(const Instruction& value, const Instruction& reduce);
  bool StartsAlike(const Path& from, const Path& to, const Instruction& reduce);

  // Made when first asked for: the module has changed since the pass began.
  const Replication& SameAcross(Replication::Across across, Replication::Groups groups);
  struct Sameness {
    Replication::Across across;
    Replication::Groups groups;
    Replication values;
  };

  Module& module_;
  PassContext& context_;
  Limits limits_;
  std::unique_ptr<Values> values_;
  std::vector<std::unique_ptr<Sameness>> sameness_;
};

}  // namespace hlo
