// backends/gpu/nvptx/nvptx.h
//
// Kernels as PTX: LLVM's NVPTX code generator after a short list of passes. No GPU and no CUDA is
// needed. This header includes no LLVM header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

inline constexpr std::string_view kDefaultTarget = "sm_90";

// Refuses a name such as "sm_12" that the code generator does not know.
absl::Status CheckTarget(std::string_view target);

struct PtxOptions {
  std::string target = std::string(kDefaultTarget);
  bool overlap = false;  // GpuOptions::overlap; before sm_90 there is no such thing
};

// What loads a kernel of a PTX module: its name, and the shared memory that its launch brings.
absl::StatusOr<KernelEntry> EntryOf(const UniqueKernel& kernel);

struct Ptx {
  std::string text;
  std::vector<KernelEntry> kernels;
};
// All kernels as one PTX module. May be called by several threads at once.
absl::StatusOr<Ptx> CompileToPtx(absl::Span<const UniqueKernel> kernels, const PtxOptions& options);

// Whether all kernels of this PTX wait themselves until what was launched before them is done, so
// that they may be launched earlier: those that CompileToPtx makes with `overlap` do.
bool WaitForEarlier(std::string_view ptx);

// A kernel as LLVM text, as the emitters wrote it.
absl::StatusOr<std::string> KernelAsText(const UniqueKernel& kernel);
// Puts edited texts of that kind (backends/llvm/kernel_texts.h) in the place of their kernels.
absl::Status ReplaceKernels(const StageText& edited, std::vector<UniqueKernel>& kernels);

}  // namespace hlo::gpu
