// Unique names within a module by XLA's rules: a trailing ".<integer>" is a suffix; a taken name
// gets the next free number of its root.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {

// Whether `name` is a legal instruction name as it stands.
bool IsSanitizedName(std::string_view name);
// The legal name nearest to `name`.
std::string SanitizeName(std::string_view name);

class NameUniquer {
 public:
  // The unique form of `name`, which is then taken.
  std::string Unique(std::string_view name);
  // Takes `name` if it is its own unique form; changes nothing otherwise.
  bool TakeAsIs(std::string_view name);
  void Clear();

 private:
  // A name without its number, in the order of first use; the numbers taken are in taken_.
  struct Root {
    uint32_t id;
    int64_t next = 0;
  };
  Root& RootOf(std::string_view text);

  absl::flat_hash_map<std::string, Root> roots_;
  absl::flat_hash_set<std::pair<uint32_t, int64_t>> taken_;  // root, number
};

}  // namespace hlo
