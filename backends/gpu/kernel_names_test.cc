#include "backends/gpu/kernel_names.h"

#include <catch2/catch.hpp>

namespace hlo::gpu {
namespace {

TEST_CASE("kernels have the names of what they compute, as PTX takes them", "[gpu]") {
  std::vector<UniqueKernel> kernels = {{"loop_fusion.2", ""},
                                       {"loop_fusion-2", ""},
                                       {"add", ""},
                                       {"add_kernel", ""},
                                       {"3d", ""},
                                       {"add", ""}};
  NameKernels(kernels);
  std::vector<std::string> symbols;
  for (const UniqueKernel& kernel : kernels) symbols.push_back(kernel.symbol);
  CHECK(symbols == std::vector<std::string>{"loop_fusion_2", "loop_fusion_2_1", "add_kernel",
                                            "add_kernel_1", "_3d", "add_kernel_2"});
  const std::vector<std::string> first = symbols;
  NameKernels(kernels);
  for (size_t i = 0; i < kernels.size(); ++i) CHECK(kernels[i].symbol == first[i]);
}

}  // namespace
}  // namespace hlo::gpu
