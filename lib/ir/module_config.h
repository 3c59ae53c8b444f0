// What a module says about itself besides its computations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/ir/extras.h"
#include "lib/types/shape_util.h"

namespace hlo {

// `input_output_alias={ {0}: (0, {}, may-alias) }`
struct InputOutputAlias {
  ShapeIndex output;
  int64_t parameter = 0;
  ShapeIndex parameter_index;
  bool must_alias = false;
  friend bool operator==(const InputOutputAlias&, const InputOutputAlias&) = default;
};

// `buffer_donor={ (0, {}) }`
struct BufferDonor {
  int64_t parameter = 0;
  ShapeIndex index;
  friend bool operator==(const BufferDonor&, const BufferDonor&) = default;
};

// Dynamic size of a parameter: the s32 scalar at `size_index` of parameter `size_parameter` says
// how much of dimension `dim` of the array at `index` of parameter `parameter` is in use.
struct DynamicParameterBinding {
  int64_t size_parameter = 0;
  ShapeIndex size_index;
  int64_t parameter = 0;
  ShapeIndex index;
  int64_t dim = 0;
  friend bool operator==(const DynamicParameterBinding&, const DynamicParameterBinding&) = default;
};

// A parameter that the previous program on the device may already bring into fast memory.
struct CrossProgramPrefetch {
  int64_t parameter = 0;
  ShapeIndex index;
  std::optional<int64_t> offset;  // in fast memory, when assigned
  friend bool operator==(const CrossProgramPrefetch&, const CrossProgramPrefetch&) = default;
};

// Device by replica and partition.
using DeviceAssignment = std::vector<std::vector<int64_t>>;

struct EntryLayout {
  std::vector<Shape> parameters;
  Shape result;
  friend bool operator==(const EntryLayout&, const EntryLayout&) = default;
};

struct StackFrames {
  struct Location {
    int32_t file_name_id = 0;      // 1-based
    int32_t function_name_id = 0;  // 1-based
    int32_t line = 0, end_line = 0, column = 0, end_column = 0;
    friend bool operator==(const Location&, const Location&) = default;
  };
  struct Frame {
    int32_t location_id = 0;  // 1-based
    int32_t parent_id = 0;    // 1-based; 0: none (text holds this plus one)
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  std::vector<std::string> file_names;
  std::vector<std::string> function_names;
  std::vector<Location> locations;
  std::vector<Frame> frames;
  bool empty() const {
    return frames.empty() && file_names.empty() && function_names.empty() && locations.empty();
  }
};

// One entry of `origin_recovery_table`; the module text is kept as XLA prints it.
struct RecoveryEntry {
  OriginalArray old_array;
  OriginalArray new_array;
  std::string module_text;
};

// One entry of `debug_attributes`.
struct DebugAttributes {
  struct Item {
    bool fusion_debugger = false;
    bool has_log_mode = false;
    std::optional<int64_t> callback_id;
    std::optional<bool> partitioned;
    std::optional<int64_t> op_id;
  };
  OriginalArray array;
  std::vector<Item> items;
};

struct ModuleConfig {
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  std::vector<InputOutputAlias> aliases;  // by output index, pre-order
  std::vector<BufferDonor> donors;        // sorted
  bool alias_passthrough_params = false;
  std::vector<DynamicParameterBinding> dynamic_parameters;
  std::vector<CrossProgramPrefetch> cross_program_prefetches;
  EntryLayout entry_layout;
  std::vector<bool> allow_spmd_sharding_propagation_to_parameters = {false};
  std::vector<bool> allow_spmd_sharding_propagation_to_output = {false};
  // What the SPMD partitioner did to the entry's parameters and result; empty before it ran.
  std::vector<Sharding> spmd_parameter_shardings;
  std::optional<Sharding> spmd_output_sharding;
  std::optional<DeviceAssignment> device_assignment;
  FrontendAttributes frontend_attributes;
  StackFrames stack_frames;
  std::vector<RecoveryEntry> recovery_table;
  std::vector<DebugAttributes> debug_attributes;
};

}  // namespace hlo
