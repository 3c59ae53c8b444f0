// Warnings while they are collected: of each kind the first few.
#pragma once

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/diagnostic.h"

namespace hlo {

// Of one kind, which is the format of their text, the first few are kept and the others counted: a
// file with one oddity has it in every line.
class WarningList {
 public:
  template <class... Args>
  void Add(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
    const fmt::string_view text = format;
    Kind& kind = kinds_[std::string(text.data(), text.size())];
    if (++kind.count > kMostOfAKind) return;
    kept_.push_back({Severity::kWarning, loc, fmt::format(format, std::forward<Args>(args)...)});
    kind.last = kept_.size() - 1;
  }
  bool empty() const { return kept_.empty(); }
  // In the order of the text; after the last one kept of a kind a note counts those that were not.
  std::vector<Diagnostic> Take();

 private:
  static constexpr int64_t kMostOfAKind = 5;
  struct Kind {
    int64_t count = 0;
    size_t last = 0;  // in kept_
  };
  std::vector<Diagnostic> kept_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace hlo
