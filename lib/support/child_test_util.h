// For tests of what a process says and does when it ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "lib/support/child_process.h"

namespace hlo {

// Runs `body` in a copy of this process: how that ends.
inline ChildEnd EndOfChild(const std::function<int()>& body, const ChildSetup& setup = {}) {
  absl::StatusOr<ChildProcess> child = ChildProcess::Fork(body, setup);
  REQUIRE(child.ok());
  return child->Wait();
}

// What `body` writes to standard error, in a process of its own that ends well.
inline std::string ErrorsOf(const std::function<void()>& body) {
  const int file = memfd_create("errors", MFD_CLOEXEC);
  ChildSetup setup;
  setup.error = file;
  const auto run = [&body] {
    body();
    return 0;
  };
  CHECK(EndOfChild(run, setup).ok());
  std::string text(4096, '\0');
  const ssize_t n = pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  close(file);
  return text;
}

}  // namespace hlo
