#include "backends/doctor.h"

#include <fmt/format.h>

#include "absl/status/status.h"

#if HLO_HAVE_LLVM
#include "backends/cpu/library/host.h"
#include "backends/gpu/cuda/cublaslt.h"
#include "backends/gpu/cuda/driver.h"
#include "backends/gpu/cuda/find_library.h"
#include "backends/gpu/cuda/nccl.h"
#include "backends/gpu/cuda/nvjitlink.h"
#include "backends/gpu/device/cuda_device.h"
#include "backends/gpu/nvptx/assembler.h"
#endif

namespace hlo {

#if HLO_HAVE_LLVM

std::string DoctorReport() {
  std::string report;
  const auto host = cpu::DetectHost();
  report += fmt::format("cpu      {}\n",
                        host.ok() ? host->ToString() : std::string(host.status().message()));
  const auto driver = gpu::LoadCudaDriver();
  if (driver.ok()) {
    report += fmt::format("driver   {}, CUDA {}.{}\n", (*driver)->path, (*driver)->version / 1000,
                          (*driver)->version % 1000 / 10);
    const auto device = gpu::MakeCudaDevice();
    if (device.ok()) {
      const gpu::DeviceProperties& p = (*device)->properties();
      report +=
          fmt::format("device   {}, compute capability {}.{}, {} multiprocessors, {} MiB\n", p.name,
                      p.compute_major, p.compute_minor, p.multiprocessors, p.memory_bytes >> 20);
    } else {
      report += fmt::format("device   none: {}\n", std::string(device.status().message()));
    }
  } else {
    report += fmt::format("driver   {}; install NVIDIA's driver to run there\n",
                          std::string(driver.status().message()));
  }
  const auto linker = gpu::LoadNvJitLink();
  report += linker.ok() ? fmt::format("nvjitlink {}, CUDA {}.{}\n", (*linker)->path,
                                      (*linker)->major, (*linker)->minor)
                        : fmt::format("nvjitlink {}; needed only where there is no ptxas\n",
                                      std::string(linker.status().message()));
  const auto ptxas = gpu::FindPtxas();
  report += fmt::format(
      "ptxas    {}\n",
      ptxas.ok() ? *ptxas
                 : std::string(ptxas.status().message()) +
                       "; without it and nvjitlink the driver translates PTX, more slowly");
  const auto nvdisasm = gpu::FindProgram("nvdisasm", "HLO_NVDISASM");
  report += fmt::format("nvdisasm {}\n", nvdisasm.ok() ? *nvdisasm
                                                       : std::string(nvdisasm.status().message()) +
                                                             "; `--emit=sass` needs it");
  const auto products = gpu::LoadCublasLt();
  report += products.ok()
                ? fmt::format("cublaslt {}, version {}\n", (*products)->path, (*products)->version)
                : fmt::format("cublaslt {}; large products are kernels of our own\n",
                              std::string(products.status().message()));
  const auto nccl = gpu::LoadNccl();
  report += nccl.ok()
                ? fmt::format("nccl     {}, version {}\n", (*nccl)->path, (*nccl)->version_text())
                : fmt::format(
                      "nccl     {}; the host does the collectives of several GPUs "
                      "(install libnccl2, or nvidia-nccl-cu12 for Python)\n",
                      std::string(nccl.status().message()));
  report += "gpu-sim  available\n";
  return report;
}

std::string VersionLines() {
  const auto driver = gpu::LoadCudaDriver();
  return fmt::format(
      "LLVM {}\nCUDA driver: {}\n", HLO_LLVM_VERSION,
      driver.ok() ? fmt::format("{}.{}", (*driver)->version / 1000, (*driver)->version % 1000 / 10)
                  : "not found");
}

#else

std::string DoctorReport() {
  return "This program was built without LLVM: it has the platform `interpreter` alone.\n"
         "Install llvm-19-dev and build with -DHLO_ENABLE_LLVM=ON for the others.\n";
}

std::string VersionLines() { return "built without LLVM\n"; }

#endif

}  // namespace hlo
