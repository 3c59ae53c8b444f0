#include "backends/cpu/library/host.h"

#include <catch2/catch.hpp>

namespace hlo::cpu {
namespace {

TEST_CASE("the host can be masked down but not up", "[cpu][host]") {
  const absl::StatusOr<Host> native = DetectHost();
  REQUIRE(native.ok());
  CHECK(native->processors >= 1);
  CHECK(native->l1_bytes > 0);

  const absl::StatusOr<Host> sse = DetectHost("sse");
  REQUIRE(sse.ok());
  CHECK(sse->level == IsaLevel::kSse);
  CHECK(sse->vector_bytes() == 16);
  CHECK(sse->llvm_cpu() == "x86-64-v2");
  CHECK_FALSE(sse->avx512_bf16);

  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx}) {
    const absl::StatusOr<Host> masked = DetectHost(IsaName(level));
    CAPTURE(std::string(IsaName(level)));
    if (level <= native->level) {
      REQUIRE(masked.ok());
      CHECK(masked->level == level);
    } else {
      REQUIRE_FALSE(masked.ok());
      CHECK(std::string(masked.status().message()).find("more than this machine has") !=
            std::string::npos);
    }
  }
}

TEST_CASE("an unknown feature mask names the choices", "[cpu][host]") {
  const absl::StatusOr<Host> host = DetectHost("mmx");
  REQUIRE_FALSE(host.ok());
  const std::string message(host.status().message());
  CHECK(message.find("`mmx`") != std::string::npos);
  CHECK(message.find("`avx2`") != std::string::npos);
}

}  // namespace
}  // namespace hlo::cpu
