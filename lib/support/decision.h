// The answer to a legality question: yes, or no with a reason that ends up in remarks.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace hlo {

class [[nodiscard]] Decision {
 public:
  static Decision Yes() { return Decision(); }
  static Decision No(std::string reason) {
    Decision d;
    d.allowed_ = false;
    d.reason_ = std::move(reason);
    return d;
  }
  explicit operator bool() const { return allowed_; }
  const std::string& reason() const { return reason_; }

 private:
  bool allowed_ = true;
  std::string reason_;
};

inline Decision Yes() { return Decision::Yes(); }

template <class... Args>
Decision No(fmt::format_string<Args...> format, Args&&... args) {
  return Decision::No(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hlo
