// Kernels that a module brings along as PTX text (JAX makes such calls for kernels that are written
// in CUDA or by other compilers):
//
//   y = f32[64] custom-call(x), custom_call_target="__gpu$xla.gpu.ptx", backend_config="{
//         name = \"twice\", kernel_type = \"ptx\", kernel_data = \".version 7.0 …\",
//         grid_x = 2 : i32, grid_y = 1, grid_z = 1, block_x = 32, block_y = 1, block_z = 1,
//         shared_mem_bytes = 0}"
//
// The kernel `name` of that PTX is launched once. Its parameters are addresses: of the operands,
// then of the results, or where `output_indices` says which parameters are the results' of both in
// that order. Only the platform `gpu` can run one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/custom_call.h"
#include "lib/ir/module.h"

namespace hlo {

inline constexpr std::string_view kPtxCall = "__gpu$xla.gpu.ptx";
inline bool IsPtxCall(const Instruction& instruction) {
  return IsCustomCall(instruction, kPtxCall);
}

struct PtxConfig {
  std::string name;
  std::string kernel_type;  // ptx, or cubin: machine code, which no call of this target may bring
  std::string kernel_data;
  int32_t grid_x = 0, grid_y = 0, grid_z = 0;
  int32_t block_x = 0, block_y = 0, block_z = 0;
  int32_t shared_mem_bytes = 0;  // that the launch brings
  std::vector<int32_t> output_indices;
};

// Of such a call. The place of an error is the field in the text of the module, or the call.
absl::StatusOr<PtxConfig> ReadPtxConfig(const Instruction& call);

// What each parameter of the kernel points to: operand i, or (from operand_count() on) the array i
// of the result. An error where output_indices do not name each array of the result once.
absl::StatusOr<std::vector<int>> PtxParameters(const Instruction& call, const PtxConfig& config);

}  // namespace hlo
