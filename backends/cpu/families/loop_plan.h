// backends/cpu/families/loop_plan.h
//
// The loops of a kernel, found by trial: a fusion is emitted under a plan; where an address does
// not fit (a variable must be taken apart, two loops cannot be one, a range must be cut), the plan
// is corrected and the fusion is emitted again. Emission is cheap, and the plan only ever gets
// finer, so this ends.
//
// A nest runs over the dimensions of an array: of the output (the root nest), or the reduced
// dimensions of a `reduce`. At first all its dimensions are one loop.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace hlo {
class Instruction;
}

namespace hlo::cpu {

// A loop dimension: part of a dimension of the array. index of the array's dimension = Σ stride *
// value over its parts.
struct LoopDim {
  int array_dim = 0;
  int64_t size = 1;
  int64_t stride = 1;
  bool joined_to_next = true;   // runs in one loop with the next one
  std::vector<int64_t> breaks;  // inner bounds at which the range is cut, sorted

  // Cuts stay where they are when the dimension becomes two.
  bool BreaksAreWhole(int64_t inner_size) const;
};

struct Nest {
  std::vector<LoopDim> dims;
  int lanes_limit = 1 << 20;  // no more lanes than this
  // A dimension along which loads are contiguous where they are not along the lanes: it is run in
  // tiles, which are transposed in registers. Given by array dimension and stride; -1: none.
  int tile_dim = -1;
  int64_t tile_stride = 1;

  static Nest Of(absl::Span<const int64_t> sizes);
};

struct LoopPlan {
  bool changed = false;  // by the emission that just ran: emit again
  bool renumbered =
      false;  // a dimension was split: what else is found refers to the old numbers and is dropped
  std::map<int, Nest> nests;  // by owner: id of the reduce, -1 for the root

  bool serial = false;  // one task runs it all

  void BeginTrial() { changed = renumbered = false; }

  // The nest of `owner`, made on first use.
  Nest& NestFor(int owner, absl::Span<const int64_t> sizes);

  // Corrections.
  void Separate(Nest& nest, size_t dim);                   // dim and dim + 1 get loops of their own
  void Split(Nest& nest, size_t dim, int64_t inner_size);  // dim becomes two
  void Break(Nest& nest, size_t dim, int64_t at);          // and dim gets a loop of its own
  void LimitLanes(Nest& nest, int lanes);
  void Tile(Nest& nest, size_t dim);
};

}  // namespace hlo::cpu
