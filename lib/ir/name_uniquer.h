// Unique names within a module by XLA's rules: a trailing ".<integer>" is a suffix; a taken name
// gets the next free number of its root.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/support/string_hash.h"

namespace hlo {

// Whether `name` is a legal instruction name as it stands.
bool IsSanitizedName(std::string_view name);
// The legal name nearest to `name`.
std::string SanitizeName(std::string_view name);

class NameUniquer {
 public:
  // The unique form of `name`, which is then taken.
  std::string Unique(std::string_view name);
  // Takes the sanitized (or empty) `name` if it is its own unique form; changes nothing otherwise.
  // The text of `name` must live as long as this object (or until Clear).
  bool TakeAsIs(std::string_view name);
  // Starts to fetch what TakeAsIs(name) will look at.
  void Prefetch(std::string_view name) const { taken_.prefetch(name); }
  // Room for `count` names in all.
  void Reserve(size_t count) { taken_.reserve(count); }
  void Clear();

 private:
  // Taken names, written in one way: "a.0" is the same name as "a" and stands as "a". A name loses
  // one number only: "a.1.0" is number 0 of "a.1" and stands so.
  StringViewSet taken_;
  // Where the search for a free number goes on, by name without number.
  absl::flat_hash_map<std::string, int64_t> next_;
  std::vector<std::unique_ptr<char[]>> owned_;  // the names that Unique has made
};

}  // namespace hlo
