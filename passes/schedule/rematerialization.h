// Computes values again where they are needed late, instead of keeping them, until the module needs
// no more memory than is allowed.
//
//   b = f32[1024] broadcast(p)                    b = f32[1024] broadcast(p)
//   n = f32[1024] negate(b)                       n = f32[1024] negate(b)
//   c = f32[2048] concatenate(n, n)      =>       c = f32[2048] concatenate(n, n)
//   s = f32[1024] slice(c)                        s = f32[1024] slice(c)
//   z = f32[2048] concatenate(b, s)               b.remat = f32[1024] broadcast(p)
//                                                 z = f32[2048] concatenate(b.remat, s)
//
// Memory is counted along the schedule (lib/analysis/logical_buffers.h): what the entry returns,
// and beside it the most that is needed at a time, in called computations too. `memory_limit_bytes`
// is what that may be; without it nothing is done but measured. A computation that is called is
// gone through where its caller is over the limit at the call, with what is left there for limit.
// At an instruction over the limit the cheapest way to need less is taken, that with most bytes;
// what would merely move a value that nobody has read yet is free:
//
//   recompute      up to `block_size_limit` instructions in a row, of at least `min_remat_size`
//                  bytes each, are copied as `NAME.remat` to before the next user; first single
//                  ones, then blocks, for which at most `block_rematerialization_factor` times as
//                  many are looked at
//   compress       a value is kept as a copy in the layout of `compact_shape_function` between
//                  `NAME.remat_compressed` and `NAME.remat_uncompressed`. `swap_minor` exchanges
//                  the two most minor dimensions where the most minor one is the smaller one; it
//                  pays where the most minor one is stored in multiples of `minor_multiple`
//   host_offload   a value is copied to `host_memory_space` and back where the instructions between
//                  its users take longer than that, by `bandwidth_…` and `…_per_second`
//
// `remat_algorithm`: `always` goes through the schedule once; `peak_priority` lowers the highest
// peak until that is below the limit, and recomputes nothing twice. It takes longer.
// `async_computation_parallelism`: computations that run on other threads, `NAME:COUNT;NAME:COUNT`.
// Their memory is reserved from the beginning, for that many at a time, instead of counted where
// they start; they are left as they are. `execution_threads`: `NAME;NAME`, whose computations are
// looked at; all by default.
//
// Not computed again: arguments, constants, calls, custom calls, loops, conditionals, what has side
// effects, collectives that constrain layouts, copies that keep the layout; what the computation
// returns or passes on other than by bitcasts and get-tuple-elements; what reads a value that a
// loop, fusion or custom call has written over; what comes before a control successor that has run.
//
// Requires: a schedule. Where there is none, hlo-memory-scheduler makes one first, which stays if
// something was computed again; `require_schedule` makes that an error. Should run late: cse undoes
// it.
// Ensures: no computation needs more memory than before (changes by which it would are taken back),
// copies to the host under way aside; what has become unused is removed (dce).
#pragma once

#include "lib/types/memory_space.h"
#include "passes/pass.h"
#include "passes/util/option_ranges.h"
#include "passes/util/option_words.h"

namespace hlo {

struct RematerializationOptions {
  int64_t memory_limit_bytes = -1;  // -1: none
  bool recompute = true;
  bool compress = false;
  bool host_offload = false;
  OneOf<"always", "peak_priority", "peak-priority"> remat_algorithm;
  IntIn<1> block_size_limit{1};
  double block_rematerialization_factor = 1;
  int64_t min_remat_size = 0;
  OneOf<"same", "swap_minor"> compact_shape_function;
  IntIn<1> minor_multiple{1};
  int64_t host_memory_space = kHostMemorySpace;
  double bandwidth_to_host_bytes_per_second = 2.5e10;
  double bandwidth_from_host_bytes_per_second = 2.5e10;
  // What the platform does in a second; 0: such work takes no time.
  double flops_per_second = 6.75e13;
  double transcendentals_per_second = 4.2e12;
  double bytes_per_second = 4.8e12;
  std::string async_computation_parallelism;
  std::string execution_threads;
  bool require_schedule = false;

  HLO_OPTIONS(RematerializationOptions, memory_limit_bytes, recompute, compress, host_offload,
              remat_algorithm, block_size_limit, block_rematerialization_factor, min_remat_size,
              compact_shape_function, minor_multiple, host_memory_space,
              bandwidth_to_host_bytes_per_second, bandwidth_from_host_bytes_per_second,
              flops_per_second, transcendentals_per_second, bytes_per_second,
              async_computation_parallelism, execution_threads, require_schedule)
};

class Rematerialization final : public WithOptions<Pass, RematerializationOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
