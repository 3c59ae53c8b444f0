// Runs a kernel that is written as LLVM IR on the simulated GPU, for testdata/gpu_sim:
//
//   sim_kernel FILE.ll [blocks=N] [threads=N] [seed=N] [sanitize]
//
// The file defines k(in, out) on 64 floats each, in global memory; `in` is 0, 1, …, 63. Intrinsics
// and the shared array @tile are declared. Prints `out`, 16 numbers a line, or the error.
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>

#include "backends/gpu/sim/simulated_device.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kDeclarations = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
@tile = internal addrspace(3) global [64 x float] poison, align 16
)";

struct Options {
  int blocks = 1, threads = 64;
  SimulatorOptions simulator;
};

Options Read(int argc, char** argv) {
  Options options;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    const int value = std::atoi(argv[i] + std::min(word.find('=') + 1, word.size()));
    if (word.starts_with("blocks=")) options.blocks = value;
    if (word.starts_with("threads=")) options.threads = value;
    if (word.starts_with("seed=")) options.simulator.seed = static_cast<uint64_t>(value);
    if (word == "sanitize") options.simulator.sanitize = true;
  }
  return options;
}

absl::StatusOr<DeviceCode> CodeOf(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module =
      llvm::parseAssemblyString(std::string(kDeclarations) + text, problem, context);
  if (module == nullptr) return Error("{}", problem.getMessage().str());
  DeviceCode code;
  llvm::raw_string_ostream stream(code.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  code.kernels = {{"k"}};
  return code;
}

absl::StatusOr<std::vector<float>> Run(const std::string& text, const Options& options) {
  ASSIGN_OR_RETURN(const auto device, MakeSimulatedDevice(options.simulator));
  ASSIGN_OR_RETURN(const DeviceCode code, CodeOf(text));
  ASSIGN_OR_RETURN(const auto module, device->LoadModule(code));
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0f);
  constexpr int64_t kBytes = 64 * sizeof(float);
  ASSIGN_OR_RETURN(const DevicePtr in, device->Allocate(kBytes));
  ASSIGN_OR_RETURN(const DevicePtr out, device->Allocate(kBytes));
  ASSIGN_OR_RETURN(const auto stream, device->CreateStream());
  RETURN_IF_ERROR(stream->CopyToDevice(in, values.data(), kBytes));
  const KernelArgument arguments[] = {KernelArgument::Buffer(in, kBytes),
                                      KernelArgument::Buffer(out, kBytes)};
  Launch launch;
  ASSIGN_OR_RETURN(launch.kernel, module->Find("k"));
  launch.dims.grid[0] = options.blocks;
  launch.dims.block = options.threads;
  launch.arguments = arguments;
  launch.name = "sum";
  RETURN_IF_ERROR(stream->LaunchKernel(launch));
  RETURN_IF_ERROR(stream->CopyToHost(values.data(), out, kBytes));
  RETURN_IF_ERROR(stream->Synchronize());
  return values;
}

int Main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const absl::StatusOr<std::vector<float>> values = Run(text.str(), Read(argc, argv));
  if (!values.ok()) {
    std::printf("error: %s\n", std::string(ToStd(values.status().message())).c_str());
    return 1;
  }
  for (size_t i = 0; i < values->size(); ++i)
    std::printf("%g%s", static_cast<double>((*values)[i]), i % 16 == 15 ? "\n" : " ");
  return 0;
}

}  // namespace
}  // namespace hlo::gpu

int main(int argc, char** argv) { return hlo::gpu::Main(argc, argv); }
