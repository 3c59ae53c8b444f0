#include "lib/support/shared_text.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace hlo {
namespace {

TEST_CASE("copies share the characters", "[support][shared_text]") {
  SharedText a("jit(f)/add");
  const SharedText b = a;
  CHECK(a.view().data() == b.view().data());
  CHECK(a == b);
  a = "other";
  CHECK(b == "jit(f)/add");
  CHECK(a == std::string("other"));
  CHECK_FALSE(a == b);
}

TEST_CASE("equal characters are equal texts", "[support][shared_text]") {
  CHECK(SharedText("ab") == SharedText(std::string("ab")));
  CHECK_FALSE(SharedText("ab") == SharedText("abc"));
  CHECK(SharedText("").empty());
  CHECK(SharedText("") == SharedText());
  SharedText moved("x");
  const SharedText to = std::move(moved);
  CHECK(to == "x");
  moved = to;
  moved = *&moved;
  CHECK(moved == "x");
}

TEST_CASE("threads may copy and drop one text", "[support][shared_text]") {
  const SharedText text("shared by threads");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&text] {
      for (int i = 0; i < 10000; ++i) {
        const SharedText copy = text;
        if (copy.empty()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(text == "shared by threads");
}

}  // namespace
}  // namespace hlo
