// Unique names within a module by XLA's rules: a trailing ".<integer>" is a suffix; a taken name gets the next free
// number of its root.
#pragma once

#include <string>
#include <string_view>

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
  void Clear() { roots_.clear(); }

 private:
  struct Numbers {
    absl::flat_hash_set<int64_t> used;
    int64_t next = 0;
    // Returns `wanted` if free, else the next free number.
    int64_t Take(int64_t wanted);
  };
  absl::flat_hash_map<std::string, Numbers> roots_;
};

}  // namespace hlo
