// backends/gpu/library/kernel_choices.h
//
// Which kernel of a library is the fastest for what, kept in a file for other processes:
//
//   HLO kernel choices 1
//   NVIDIA H200, driver 12080, cublasLt 120805 <tab> 1 x 4096 x 4096 x 512, bf16 … <tab> 0000001b…
//
// A line says where, for what, and which kernel. Of equal ones the last counts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace hlo::gpu {

class KernelChoices {
 public:
  // Of a file; none where there is no file yet. An error names the line.
  static absl::StatusOr<KernelChoices> Read(const std::string& path);

  // Whether the file can be read and written.
  static absl::Status Check(const std::string& path);

  // "" where nothing is known.
  std::string_view Find(const std::string& where, const std::string& what) const;
  // None of the three holds a tab or a line's end.
  void Add(const std::string& where, const std::string& what, std::string_view kernel);
  // With what other processes have added since it was read. The file is whole at any time.
  absl::Status AddTo(const std::string& path) const;

 private:
  std::map<std::pair<std::string, std::string>, std::string> kernels_;
};

}  // namespace hlo::gpu
