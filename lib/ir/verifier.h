// Checks that a module is what every pass and back end may rely on. The rules are listed at the top
// of verifier.cc (the graph), verify_ops.cc (single instructions), verify_layouts.cc (layouts and
// memory spaces), verify_sharding.cc (shardings, origins), verify_control.cc (computations and
// their callers), verify_async.cc (operations in two halves), verify_channels.cc (sends and
// receives), verify_collectives.cc (device groups), verify_buffers.cc (`b(…)` values) and
// verify_module.cc (entry layout, aliases, schedule). Reports up to `max_errors` located messages.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Names and meanings are those of XLA's verifier.
struct VerifierOptions {
  // Operand and result layouts must agree where the opcode requires it.
  bool layout_sensitive = false;
  // Floats of different widths may meet in one instruction.
  bool allow_mixed_precision = true;
  // `dimensions` of broadcasts ascend.
  bool verify_broadcast_dims_order = false;
  // Reshapes outside fusions move no bytes.
  bool verify_reshape_is_bitcast = false;
  // `to_apply` runs on the thread of its caller.
  bool verify_call_nested_computation_thread_name = false;
  // Shardings name the module's partitions, as many as there are.
  bool verify_sharding_device_numbers = true;
  // Bitcasts may differ in padding.
  bool allow_bitcast_to_have_different_size = false;
  // Dimensions may be unbounded.
  bool allow_unbounded_dynamism = false;
  // `scheduling_name` in the metadata is the name, but for clones and rematerialised copies.
  bool verify_instruction_name_unchanged = false;
  // Nothing lies in host memory.
  bool verify_no_host_memory_space = false;
  // Sends and receives between devices, in the order of the schedule, cannot wait for each other.
  bool verify_no_collective_deadlocks = false;
  // `replica_groups` fit the numbers of replicas and partitions.
  bool check_replica_groups = true;
  // With layout_sensitive: opcodes whose result may be laid out unlike their operands. Null: XLA's
  // list.
  std::function<bool(const Instruction&)> instruction_can_change_layout;
  // Bytes of an array, for bitcasts and aliases. Null: Shape::byte_size.
  std::function<int64_t(Shape)> shape_size;
  int max_errors = 10;
};

absl::Status Verify(const Module& module, const VerifierOptions& options = {});

}  // namespace hlo
