#include "backends/gpu/kernel_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "backends/codegen/kernel_frame.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/kernel_names.h"
#include "backends/gpu/library/fastest.h"
#include "backends/gpu/library/kernel_choices.h"
#include "lib/ir/printer.h"
#include "lib/support/hash.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kRunsOfChoice = 2;

// The shapes, for a reader, and all that the kernels depend on, as a number.
std::string TextOf(const Instruction& instruction, const FamilyOptions& options) {
  std::string operands;
  for (const Instruction* operand : instruction.operands())
    operands += fmt::format("{}{}", operands.empty() ? "" : ", ", operand->shape());
  PrintOptions print = PrintOptions::Canonical();
  print.subcomputations = PrintOptions::Subcomputations::kFullBodies;
  print.large_constants = true;
  print.metadata = false;
  const std::string all = fmt::format("{} {} {} {}", ToText(instruction, print),
                                      options.multiprocessors, options.tf32, options.shared.size());
  return fmt::format("{}({}) -> {} {:016x}", instruction.opcode_text(), operands,
                     instruction.shape(), HashBytes(all));
}

// Whether the steps need nothing that only a running program knows.
bool RunsAlone(const KernelPlan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
    return step.kind == PlanStep::Kind::kLaunch && step.late == PlanStep::Late::kNone;
  });
}

// Kernels of a plan on the device.
struct LoadedPlan {
  const KernelPlan* plan;
  std::vector<std::unique_ptr<DeviceModule>> modules;
  std::vector<const DeviceKernel*> kernels;

  absl::Status Load(Device& device, const CompileForDevice& compile) {
    std::vector<UniqueKernel> code;
    for (const std::string& bitcode : plan->kernels) code.push_back({"choice", bitcode});
    NameKernels(code);
    ASSIGN_OR_RETURN(const std::vector<DeviceCode> compiled, compile(code));
    for (const DeviceCode& one : compiled) {
      ASSIGN_OR_RETURN(modules.emplace_back(), device.LoadModule(one));
      for (const KernelEntry& entry : one.kernels) {
        ASSIGN_OR_RETURN(kernels.emplace_back(), modules.back()->Find(entry.name));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(Stream& stream, const std::vector<KernelArgument>& buffers) const {
    for (const PlanStep& step : plan->steps) {
      absl::InlinedVector<KernelArgument, 16> arguments;
      for (const int buffer : step.buffers)
        arguments.push_back(buffers[static_cast<size_t>(buffer)]);
      for (const int64_t integer : step.integers)
        arguments.push_back(KernelArgument::Integer(integer));
      Launch launch;
      launch.kernel = kernels[static_cast<size_t>(step.kernel)];
      launch.dims = step.dims;
      launch.arguments = arguments;
      launch.name = "choice";
      RETURN_IF_ERROR(stream.LaunchKernel(launch));
    }
    return absl::OkStatus();
  }
};

// Bytes of the buffers of a plan: arrays, then scratch memory.
std::vector<int64_t> BytesOf(const KernelFrame& frame, const KernelPlan& plan) {
  std::vector<int64_t> bytes;
  for (const Shape& array : frame.arrays)
    bytes.push_back(array.element_count() * ByteSize(array.element_type()));
  bytes.insert(bytes.end(), plan.scratch.begin(), plan.scratch.end());
  return bytes;
}

int64_t TotalOf(const std::vector<int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}, [](int64_t sum, int64_t one) {
    return sum + RoundUp(one, kMemoryAlignment);
  });
}

class Tuner final : public KernelTuner {
 public:
  Tuner(std::shared_ptr<Device> device, CompileForDevice compile, std::string file,
        KernelChoices known)
      : device_(std::move(device)),
        compile_(std::move(compile)),
        where_(fmt::format("{}, driver {}, own kernels", device_->properties().name,
                           device_->properties().driver_version)),
        file_(std::move(file)),
        known_(std::move(known)) {}

  KernelPlan Fastest(const Instruction& instruction, const FamilyOptions& options,
                     KernelPlan plan) override {
    if (plan.choices.size() < 2 || !RunsAlone(plan)) return plan;
    const absl::StatusOr<int> choice = Find(instruction, options, plan);
    if (!choice.ok() || *choice == 0) return plan;
    FamilyOptions chosen = options;
    chosen.choice = *choice;
    absl::StatusOr<KernelPlan> fastest = EmitInstruction(instruction, chosen);
    return fastest.ok() ? *std::move(fastest) : plan;
  }

 private:
  // The number of a choice, of those that `plan` has.
  absl::StatusOr<int> Find(const Instruction& instruction, const FamilyOptions& options,
                           const KernelPlan& plan) {
    const std::string what = TextOf(instruction, options);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known =
        std::find(plan.choices.begin(), plan.choices.end(), known_.Find(where_, what));
    if (known != plan.choices.end()) return static_cast<int>(known - plan.choices.begin());
    std::vector<KernelPlan> plans = {plan};
    for (int i = 1; i < static_cast<int>(plan.choices.size()); ++i) {
      FamilyOptions other = options;
      other.choice = i;
      ASSIGN_OR_RETURN(plans.emplace_back(), EmitInstruction(instruction, other));
    }
    ASSIGN_OR_RETURN(const int fastest, Time(instruction, plans));
    known_.Add(where_, what, plan.choices[static_cast<size_t>(fastest)]);
    // The file could be written at first: what fails later costs another process its time, no more.
    if (!file_.empty()) known_.AddTo(file_).IgnoreError();
    return fastest;
  }

  absl::StatusOr<int> Time(const Instruction& instruction, const std::vector<KernelPlan>& plans) {
    RETURN_IF_ERROR(device_->Enter());
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
    if (!stream->HasClock()) return absl::UnimplementedError("there is no clock");
    ASSIGN_OR_RETURN(const KernelFrame frame, MakeKernelFrame(instruction, "gpu"));
    std::vector<LoadedPlan> loaded;
    int64_t total = 0;
    for (const KernelPlan& plan : plans) {
      RETURN_IF_ERROR(loaded.emplace_back(LoadedPlan{&plan, {}, {}}).Load(*device_, compile_));
      total = std::max(total, TotalOf(BytesOf(frame, plan)));
    }
    ASSIGN_OR_RETURN(const DevicePtr memory, device_->Allocate(total));
    const absl::Cleanup free = [&] {
      stream->Synchronize().IgnoreError();
      device_->Free(memory).IgnoreError();
    };
    RETURN_IF_ERROR(FillWithNumbers(*stream, memory, total));
    const size_t fastest = FastestOf(*stream, plans.size(), kRunsOfChoice, [&](size_t i) {
      std::vector<KernelArgument> buffers;
      DevicePtr at = memory;
      for (const int64_t bytes : BytesOf(frame, plans[i])) {
        buffers.push_back(KernelArgument::Buffer(at, bytes));
        at += static_cast<DevicePtr>(RoundUp(bytes, kMemoryAlignment));
      }
      return loaded[i].Run(*stream, buffers);
    });
    return static_cast<int>(fastest);
  }

  std::shared_ptr<Device> device_;
  CompileForDevice compile_;
  std::string where_;
  std::string file_;
  std::mutex mutex_;
  KernelChoices known_;  // guarded by mutex_
};

}  // namespace

absl::StatusOr<std::shared_ptr<KernelTuner>> MakeKernelTuner(std::shared_ptr<Device> device,
                                                             CompileForDevice compile,
                                                             std::string file) {
  KernelChoices known;
  if (!file.empty()) {
    ASSIGN_OR_RETURN(known, KernelChoices::Read(file));
  }
  return std::make_shared<Tuner>(std::move(device), std::move(compile), std::move(file),
                                 std::move(known));
}

}  // namespace hlo::gpu
