// The remainder that NVPTX code computes, run on the simulator: the bits of fmod.
#include "backends/gpu/nvptx/remainder.h"

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/gpu/sim/simulated_device.h"

namespace hlo::gpu {
namespace {

DeviceCode RemainderKernel(std::string_view type) {
  const std::string text = fmt::format(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %r) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %px = getelementptr {0}, ptr addrspace(1) %x, i32 %i
  %py = getelementptr {0}, ptr addrspace(1) %y, i32 %i
  %pr = getelementptr {0}, ptr addrspace(1) %r, i32 %i
  %a = load {0}, ptr addrspace(1) %px
  %b = load {0}, ptr addrspace(1) %py
  %c = frem {0} %a, %b
  store {0} %c, ptr addrspace(1) %pr
  ret void
}})",
                                       type);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE(module != nullptr);
  LowerRemainders(*module);
  std::string after;
  llvm::raw_string_ostream(after) << *module;
  CHECK(after.find("frem") == std::string::npos);
  DeviceCode code;
  llvm::raw_string_ostream stream(code.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  code.kernels = {{"k"}};
  return code;
}

template <class T>
void CheckRemainders(std::string_view type) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           3,
                           T(0.1),
                           T(7.25),
                           T(1e10),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           5 * Limits::denorm_min(),
                           Limits::min() * T(1.75),
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::epsilon()};
  for (size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  std::vector<T> x, y;
  for (const T a : values) {
    for (const T b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 500; ++i) {
    for (std::vector<T>* to : {&x, &y}) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      if constexpr (sizeof(T) == 4) {
        to->push_back(std::bit_cast<float>(static_cast<uint32_t>(state >> 17)));
      } else {
        to->push_back(std::bit_cast<double>(state));
      }
    }
  }
  const auto bytes = static_cast<int64_t>(x.size() * sizeof(T));
  auto device = *MakeSimulatedDevice({});
  auto module = device->LoadModule(RemainderKernel(type));
  REQUIRE(module.ok());
  auto stream = *device->CreateStream();
  KernelArgument arguments[3];
  for (KernelArgument& argument : arguments)
    argument = KernelArgument::Buffer(*device->Allocate(bytes), bytes);
  REQUIRE(stream->CopyToDevice(arguments[0].value, x.data(), bytes).ok());
  REQUIRE(stream->CopyToDevice(arguments[1].value, y.data(), bytes).ok());
  Launch launch;
  launch.kernel = *(*module)->Find("k");
  launch.dims.grid[0] = static_cast<int64_t>(x.size());
  launch.arguments = arguments;
  launch.name = "remainder";
  REQUIRE(stream->LaunchKernel(launch).ok());
  std::vector<T> got(x.size());
  REQUIRE(stream->CopyToHost(got.data(), arguments[2].value, bytes).ok());
  REQUIRE(stream->Synchronize().ok());
  for (size_t i = 0; i < x.size(); ++i) {
    const T want = std::fmod(x[i], y[i]);
    if (std::isnan(want) && std::isnan(got[i])) continue;
    CAPTURE(x[i], y[i], got[i], want);
    CHECK((got[i] == want && std::signbit(got[i]) == std::signbit(want)));
  }
}

TEST_CASE("remainders of floats have no rounding", "[gpu][remainder]") {
  CheckRemainders<float>("float");
  CheckRemainders<double>("double");
}

}  // namespace
}  // namespace hlo::gpu
