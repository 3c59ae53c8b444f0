// Machine code of programs, by what it was made of: what a saved executable holds beside its module
// (backends/executable_file.h), so that another process need not make it again.
//
// A compilation is given a store (CompileOptions::code_store). An open one takes the code that is
// made; a closed one gives the code, and a kernel that is not in it is an error: the module, the
// options or the emitter are not those of the process that filled it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace hlo {

class CodeStore final {
 public:
  struct Function {
    uint64_t key = 0;    // HashBytes of what it was made of
    std::string symbol;  // in its object
  };
  // A relocatable object file, with the functions in it.
  struct Object {
    std::vector<Function> functions;
    std::string bytes;
  };
  struct Place {
    size_t object;
    const std::string* symbol;
  };

  // Open and empty.
  CodeStore() = default;
  // Closed.
  explicit CodeStore(std::vector<Object> objects) : is_closed_(true), objects_(std::move(objects)) {
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (const Function& function : objects_[i].functions)
        places_.insert({function.key, {i, &function.symbol}});
    }
  }
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;

  bool is_closed() const { return is_closed_; }
  const std::vector<Object>& objects() const { return objects_; }
  // Null where there is none.
  const Place* Find(uint64_t key) const {
    const auto it = places_.find(key);
    return it == places_.end() ? nullptr : &it->second;
  }
  void Add(Object object) { objects_.push_back(std::move(object)); }

 private:
  bool is_closed_ = false;
  std::vector<Object> objects_;
  absl::flat_hash_map<uint64_t, Place> places_;
};

}  // namespace hlo
