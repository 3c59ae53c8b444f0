#include "backends/llvm/kernel_texts.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr std::string_view kNameLine = "source_filename = \"";

std::string ToText(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

// A mistake of LLVM's parser in a part that begins at `first_line` of the file.
absl::Status MistakeAt(std::string_view file, size_t first_line,
                       const llvm::SMDiagnostic& mistake) {
  const auto column = static_cast<size_t>(std::max(mistake.getColumnNo(), 0));
  const auto line = first_line - 1 + static_cast<size_t>(std::max(mistake.getLineNo(), 1));
  return Error("{}:{}:{}: {}\n  {}\n  {:>{}}", file, line, column + 1,
               std::string(mistake.getMessage()), std::string(mistake.getLineContents()), "^",
               column + 1);
}

}  // namespace

absl::StatusOr<KernelTexts> KernelTexts::Read(std::string file, std::string text) {
  KernelTexts texts;
  texts.file_ = std::move(file);
  texts.text_ = std::move(text);
  const std::string_view all = texts.text_;
  size_t line = 1;
  for (size_t begin = 0; begin < all.size(); ++line) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view content = all.substr(begin, end - begin);
    if (content.starts_with(kNameLine)) {
      const std::string_view rest = content.substr(kNameLine.size());
      const std::string_view name = rest.substr(0, rest.find('"'));
      if (texts.Has(name)) {
        return Error("{}:{}: kernel `{}` is there a second time; the first is in line {}",
                     texts.file_, line, name, texts.Find(name)->line);
      }
      if (!texts.parts_.empty()) texts.parts_.back().end = begin;
      texts.parts_.push_back({std::string(name), begin, all.size(), line});
    } else if (texts.parts_.empty() && !Trim(content).empty() && Trim(content)[0] != ';') {
      return Error("{}:{}: expected `source_filename = \"kernel...\"`, found `{}`", texts.file_,
                   line, content);
    }
    begin = end + 1;
  }
  if (texts.parts_.empty())
    return Error("{}: no kernel is there: no line begins with `source_filename = `", texts.file_);
  return texts;
}

const KernelTexts::Part* KernelTexts::Find(std::string_view kernel) const {
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const Part& part) { return part.name == kernel; });
  return found == parts_.end() ? nullptr : &*found;
}

absl::Status KernelTexts::CheckNames(absl::Span<const std::string> known) const {
  for (const Part& part : parts_) {
    if (std::find(known.begin(), known.end(), part.name) != known.end()) continue;
    const std::vector<std::string_view> names(known.begin(), known.end());
    return Error("{}:{}: the module has no kernel `{}`{}; there are: {}", file_, part.line,
                 part.name, DidYouMean(part.name, names), Join(names, ", "));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<llvm::Module>> KernelTexts::Parse(
    std::string_view kernel, const llvm::Function& original) const {
  const Part* const part = Find(kernel);
  RET_CHECK(part != nullptr, "there is no text of `{}`", kernel);
  const std::string text = text_.substr(part->begin, part->end - part->begin);
  llvm::SMDiagnostic mistake;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, mistake, original.getContext());
  if (module == nullptr) return MistakeAt(file_, part->line, mistake);
  const llvm::Function* const function = module->getFunction(original.getName());
  const auto name = std::string(original.getName());
  if (function == nullptr || function->isDeclaration()) {
    return Error("{}:{}: kernel `{}` does not define `@{}`", file_, part->line, kernel, name);
  }
  if (function->getFunctionType() != original.getFunctionType()) {
    return Error("{}:{}: `@{}` is a `{}` here, but the program calls it as `{}`", file_, part->line,
                 name, ToText(*function->getFunctionType()), ToText(*original.getFunctionType()));
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream))
    return Error("{}:{}: kernel `{}`: {}", file_, part->line, kernel, stream.str());
  return module;
}

}  // namespace hlo
