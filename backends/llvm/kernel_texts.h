// The texts of `--emit=llvm`, read back after somebody has edited them: one LLVM module for each
// kernel, one after the other, told apart by their lines `source_filename = "…"`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace llvm {
class Function;
class LLVMContext;
class Module;
}  // namespace llvm

namespace hlo {

class KernelTexts final {
 public:
  KernelTexts() = default;  // of no kernel
  // `file` is named in messages.
  static absl::StatusOr<KernelTexts> Read(std::string file, std::string text);

  // Refuses a text whose kernel is none of these.
  absl::Status CheckNames(absl::Span<const std::string> known) const;

  bool Has(std::string_view kernel) const { return Find(kernel) != nullptr; }
  // The module of a kernel that is there, after LLVM's verifier. It defines a function of the name
  // and type of `original`, which is in the same context.
  absl::StatusOr<std::unique_ptr<llvm::Module>> Parse(std::string_view kernel,
                                                      const llvm::Function& original) const;

 private:
  struct Part {
    std::string name;
    size_t begin, end;  // in `text_`
    size_t line;        // of `begin`, from 1
  };
  const Part* Find(std::string_view kernel) const;

  std::string file_, text_;
  std::vector<Part> parts_;
};

}  // namespace hlo
