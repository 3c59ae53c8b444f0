#include "backends/gpu/nvptx/compile.h"

#include <algorithm>

#include "backends/gpu/nvptx/assembler.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"

namespace hlo::gpu {
namespace {

absl::Status CompileOne(absl::Span<const UniqueKernel> kernels, const PtxOptions& options,
                        DeviceCode& code) {
  ASSIGN_OR_RETURN(Ptx ptx, CompileToPtx(kernels, options));
  code.ptx = std::move(ptx.text);
  code.kernels = std::move(ptx.kernels);
  code.waits = WaitForEarlier(code.ptx);
  if (!HasAssembler()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Assembled assembled, Assemble(code.ptx, options.target));
  code.cubin = std::move(assembled.cubin);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DeviceCode>> CompileKernels(absl::Span<const UniqueKernel> kernels,
                                                       const PtxOptions& options, int threads) {
  // Fewer kernels than this are not worth a module of their own.
  constexpr int64_t kLeastKernels = 2;
  const auto count = static_cast<int64_t>(kernels.size());
  ThreadPool pool(threads);
  const int64_t parts = std::min<int64_t>(pool.size(), CeilDiv(count, kLeastKernels));
  std::vector<DeviceCode> codes(static_cast<size_t>(parts));
  std::vector<absl::Status> statuses(codes.size());
  pool.ParallelForDynamic(parts, [&](int64_t part, int /*worker*/) {
    const auto begin = static_cast<size_t>(count * part / parts);
    const auto end = static_cast<size_t>(count * (part + 1) / parts);
    const auto i = static_cast<size_t>(part);
    statuses[i] = CompileOne(kernels.subspan(begin, end - begin), options, codes[i]);
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return codes;
}

absl::StatusOr<DeviceCode> CompileEdited(const StageText& ptx,
                                         absl::Span<const UniqueKernel> kernels,
                                         std::string_view target) {
  DeviceCode code;
  code.ptx = ptx.text;
  code.waits = WaitForEarlier(code.ptx);
  for (const UniqueKernel& kernel : kernels) {
    ASSIGN_OR_RETURN(code.kernels.emplace_back(), EntryOf(kernel));
    const std::string& name = code.kernels.back().name;
    if (ptx.text.find(fmt::format(".entry {}(", name)) == std::string::npos)
      return Error("{}: kernel `{}` is not there", ptx.file, name);
  }
  if (!HasAssembler()) return code;
  ASSIGN_OR_RETURN(Assembled assembled, AssembleEdited(ptx, target));
  code.cubin = std::move(assembled.cubin);
  return code;
}

}  // namespace hlo::gpu
