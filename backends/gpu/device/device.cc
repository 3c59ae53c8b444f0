#include "backends/gpu/device/device.h"

#include "lib/support/status.h"

namespace hlo::gpu {

absl::Status Stream::BeginCapture() { return Internal("this stream makes no graphs"); }
absl::StatusOr<std::unique_ptr<Graph>> Stream::EndCapture() {
  return Internal("this stream makes no graphs");
}
absl::Status Stream::LaunchGraph(const Graph& /*graph*/) {
  return Internal("this stream makes no graphs");
}

absl::StatusOr<bool> Stream::IsDone() {
  RETURN_IF_ERROR(Synchronize());
  return true;
}

absl::Status CheckLaunch(const Launch& launch, const DeviceProperties& properties) {
  const auto [x, y, z] = launch.dims.grid;
  RET_CHECK(launch.kernel != nullptr, "launch of `{}` without a kernel", launch.name);
  RET_CHECK(x >= 1 && x <= 2147483647 && y >= 1 && y <= 65535 && z >= 1 && z <= 65535,
            "launch of `{}` with a grid of {} x {} x {} blocks", launch.name, x, y, z);
  const auto [block_y, block_z] = launch.dims.block_yz;
  RET_CHECK(launch.dims.block >= 1 && block_y >= 1 && block_z >= 1 && block_z <= 64 &&
                launch.dims.threads() <= properties.max_threads_per_block,
            "launch of `{}` with {} x {} x {} threads per block", launch.name, launch.dims.block,
            block_y, block_z);
  // Parameters of a kernel take at most 4 KiB.
  RET_CHECK(launch.arguments.size() <= 512, "launch of `{}` with {} arguments", launch.name,
            launch.arguments.size());
  for (const KernelArgument& argument : launch.arguments) {
    RET_CHECK(argument.kind == KernelArgument::Kind::kInteger || argument.bytes == 0 ||
                  argument.value != 0,
              "launch of `{}` with a null buffer", launch.name);
  }
  return absl::OkStatus();
}

absl::Status CheckSharedMemory(std::string_view kernel, int64_t bytes,
                               const DeviceProperties& properties) {
  if (bytes <= properties.shared_bytes_per_block) return absl::OkStatus();
  return Unsupported(SourceLoc(),
                     "kernel `{}` needs {} bytes of shared memory for a block, device `{}` has {}",
                     kernel, bytes, properties.name, properties.shared_bytes_per_block);
}

}  // namespace hlo::gpu
