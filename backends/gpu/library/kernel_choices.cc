#include "backends/gpu/library/kernel_choices.h"

#include <filesystem>
#include <vector>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kFirstLine = "HLO kernel choices 1";

}  // namespace

absl::StatusOr<KernelChoices> KernelChoices::Read(const std::string& path) {
  KernelChoices choices;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return choices;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (text.empty()) return choices;
  int64_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (number == 1 && line != kFirstLine)
      return Error("{}:1:1: expected `{}`, as `--gpu-autotune-file` writes it", path, kFirstLine);
    if (number == 1 || line.empty()) continue;
    const std::vector<std::string_view> words = Split(line, '\t');
    if (words.size() != 3) {
      return Error("{}:{}:1: expected device, product and kernel, with tabs between them", path,
                   number);
    }
    choices.Add(std::string(words[0]), std::string(words[1]), words[2]);
  }
  return choices;
}

absl::Status KernelChoices::Check(const std::string& path) {
  RETURN_IF_ERROR(Read(path).status());
  return CheckWritable(path);
}

std::string_view KernelChoices::Find(const std::string& where, const std::string& what) const {
  const auto it = kernels_.find({where, what});
  return it == kernels_.end() ? std::string_view() : it->second;
}

void KernelChoices::Add(const std::string& where, const std::string& what,
                        std::string_view kernel) {
  kernels_[{where, what}] = std::string(kernel);
}

absl::Status KernelChoices::AddTo(const std::string& path) const {
  ASSIGN_OR_RETURN(KernelChoices all, Read(path));
  for (const auto& [key, kernel] : kernels_) all.kernels_[key] = kernel;
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const auto& [key, kernel] : all.kernels_)
    text += fmt::format("{}\t{}\t{}\n", key.first, key.second, kernel);
  return WriteFile(path, text);
}

}  // namespace hlo::gpu
