#include "backends/gpu/ptx_thunk.h"

#include "backends/gpu/gpu_thunks.h"
#include "lib/ir/any_instruction.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/ptx_call.h"

namespace hlo::gpu {
namespace {

// What CUDA takes for each number of a launch, on all GPUs.
struct DimLimit {
  std::string_view name;
  int32_t PtxConfig::*member;
  int32_t most;
};
constexpr DimLimit kLimits[] = {{"grid_y", &PtxConfig::grid_y, 65535},
                                {"grid_z", &PtxConfig::grid_z, 65535},
                                {"block_x", &PtxConfig::block_x, 1024},
                                {"block_y", &PtxConfig::block_y, 1024},
                                {"block_z", &PtxConfig::block_z, 64}};
constexpr int64_t kMostBlockThreads = 1024;

absl::Status CheckDims(const Instruction& call, const PtxConfig& config) {
  for (const DimLimit& limit : kLimits) {
    if (config.*limit.member <= limit.most) continue;
    return Error(call.loc(), "{} of `{}` is {}; CUDA has at most {}", limit.name, call.name(),
                 config.*limit.member, limit.most);
  }
  if (int64_t{config.block_x} * config.block_y * config.block_z <= kMostBlockThreads)
    return absl::OkStatus();
  return Error(call.loc(), "`{}` has blocks of {} x {} x {} threads; CUDA has at most {} in one",
               call.name(), config.block_x, config.block_y, config.block_z, kMostBlockThreads);
}

absl::Status CheckArrays(const Instruction& call) {
  std::vector<Shape> shapes = call.operand_shapes();
  if (call.shape().IsTuple()) {
    for (const Shape element : call.shape().elements()) shapes.push_back(element);
  } else {
    shapes.push_back(call.shape());
  }
  for (const Shape shape : shapes) {
    if (shape.IsArray() && !shape.has_dynamic_dims()) continue;
    return Unsupported(call.loc(), "`{}` is a kernel in PTX of static arrays, found `{}`",
                       call.name(), shape);
  }
  return absl::OkStatus();
}

}  // namespace

BufferUses PtxThunk::uses() const {
  const auto results = buffers_.begin() + static_cast<std::ptrdiff_t>(operands_);
  BufferUses uses;
  uses.reads.assign(buffers_.begin(), results);
  uses.writes.assign(results, buffers_.end());
  return uses;
}

absl::StatusOr<ExecuteEvent> PtxThunk::Execute(DeviceState& device, hlo::Stream& any_stream) const {
  auto& state = static_cast<GpuState&>(device);
  auto& stream = static_cast<Stream&>(any_stream);
  KernelArguments arguments;
  for (const int argument : arguments_) {
    const BufferSlice& slice = buffers_[static_cast<size_t>(argument)];
    arguments.push_back(KernelArgument::Buffer(state.Address(slice), slice.size));
  }
  Launch launch;
  launch.kernel = (*state.given_kernels)[static_cast<size_t>(number_)];
  launch.dims = dims_;
  launch.arguments = arguments;
  launch.name = name();
  RETURN_IF_ERROR(stream.LaunchKernel(launch));
  return ExecuteEvent(stream);
}

absl::StatusOr<PtxLaunch> PtxLaunchOf(const Instruction& call) {
  ASSIGN_OR_RETURN(PtxConfig config, ReadPtxConfig(call));
  if (config.kernel_type != "ptx")
    return Error(call.loc(), "kernel_type of `{}` is `{}`: what `{}` launches is PTX", call.name(),
                 config.kernel_type, kPtxCall);
  RETURN_IF_ERROR(CheckDims(call, config));
  RETURN_IF_ERROR(CheckArrays(call));
  PtxLaunch launch;
  ASSIGN_OR_RETURN(launch.arguments, PtxParameters(call, config));
  launch.dims.grid = {config.grid_x, config.grid_y, config.grid_z};
  launch.dims.block = config.block_x;
  launch.dims.block_yz = {config.block_y, config.block_z};
  launch.code.ptx = std::move(config.kernel_data);
  launch.code.kernels = {{std::move(config.name), config.shared_mem_bytes}};
  return launch;
}

absl::Status RefusePtxCalls(const Module& module) {
  std::vector<Diagnostic> refused;
  for (const Instruction* instruction : AllInstructions(module)) {
    if (IsPtxCall(*instruction)) refused.push_back(DiagnosticsOf(RefuseCall(*instruction)).front());
  }
  return refused.empty() ? absl::OkStatus() : StatusOf(absl::StatusCode::kUnimplemented, refused);
}

}  // namespace hlo::gpu
