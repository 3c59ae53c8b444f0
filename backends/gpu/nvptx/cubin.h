// backends/gpu/nvptx/cubin.h
//
// What a cubin says about its kernels: registers and shared memory from its tables, memory accesses
// from its machine code. No GPU and no disassembler is needed. For sm_80 to sm_90a, of which an
// instruction has 16 bytes.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::gpu {

// Accesses by width: of 1, 2, 4, 8 and 16 bytes.
using AccessWidths = std::array<int, 5>;

struct KernelResources {
  std::string name;
  int registers = 0;
  int shared_bytes = 0;    // with what the driver keeps for itself: 1 KiB on sm_90
  int local_accesses = 0;  // spilled registers, and arrays that no register holds
  int instructions = 0;
  int tensor_instructions = 0;           // products of matrices
  AccessWidths loads = {}, stores = {};  // of global memory
  // Of its launches, which a cubin does not know: threads of a block, the most blocks (0: not
  // known), and which share of a multiprocessor's threads they fill (occupancy.h).
  int threads = 0;
  int64_t blocks = 0;
  double occupancy = 0;
};

// The kernels in the order of the file.
absl::StatusOr<std::vector<KernelResources>> ReadCubin(std::string_view cubin);

// "4x16+1x4": four accesses of 16 bytes and one of 4; "-" for none.
std::string ToText(const AccessWidths& widths);
// A table of the kernels, one line each.
std::string ToTable(const std::vector<KernelResources>& kernels);

}  // namespace hlo::gpu
