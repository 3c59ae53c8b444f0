// Ways to share a product among blocks: each computes the same on the simulated GPU, and the fastest
// is taken on a device whose clock counts what is put on a stream.
#include "backends/gpu/kernel_tuner.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_executable.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/eval/evaluator.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/temporary.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

constexpr int kProcessors = 132;

std::string DotText(std::string_view type, int rows, int depth, int columns) {
  return fmt::format(
      "HloModule m\nENTRY main {{\nx = s8[{1},{2}] parameter(0)\ny = s8[{2},{3}] parameter(1)\n"
      "a = {0}[{1},{2}] convert(x)\nb = {0}[{2},{3}] convert(y)\n"
      "ROOT r = f32[{1},{3}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}",
      type, rows, depth, columns);
}

std::unique_ptr<Module> ModuleOfDot(const std::string& text) {
  auto module = ParseModule(text);
  REQUIRE(module.ok());
  return *std::move(module);
}

FamilyOptions OnManyProcessors(int choice = 0) {
  FamilyOptions options;
  options.multiprocessors = kProcessors;
  options.choice = choice;
  return options;
}

// Takes the choice that it is told.
class Told final : public KernelTuner {
 public:
  explicit Told(int choice) : choice_(choice) {}
  KernelPlan Fastest(const Instruction& instruction, const FamilyOptions& options,
                     KernelPlan plan) override {
    if (choice_ >= static_cast<int>(plan.choices.size())) return plan;
    FamilyOptions other = options;
    other.choice = choice_;
    auto chosen = EmitInstruction(instruction, other);
    REQUIRE(chosen.ok());
    return *std::move(chosen);
  }

 private:
  int choice_;
};

std::vector<DeviceCode> AsBitcode(absl::Span<const UniqueKernel> kernels) {
  std::vector<DeviceCode> codes;
  for (const UniqueKernel& kernel : kernels)
    codes.push_back({kernel.bitcode, {}, {}, {{kKernelName}}});
  return codes;
}

absl::StatusOr<Literal> RunWith(KernelTuner& tuner, std::unique_ptr<Module> module,
                                const std::vector<Literal>& arguments) {
  CompileOptions options;
  options.gpu.multiprocessors = kProcessors;
  ASSIGN_OR_RETURN(Program program, EmitProgram(*module, options, nullptr, &tuner));
  SimulatorOptions simulator;
  simulator.sanitize = true;
  ASSIGN_OR_RETURN(std::shared_ptr<Device> device, MakeSimulatedDevice(simulator));
  const std::vector<DeviceCode> codes = AsBitcode(program.kernels);
  ASSIGN_OR_RETURN(const auto executable,
                   GpuExecutable::Make(std::move(module), {{std::move(device)}, nullptr},
                                       std::move(program), codes));
  return executable->Run(arguments, {});
}

TEST_CASE("every way to share a product among blocks computes it", "[gpu][library]") {
  struct Case {
    const char* type;
    int rows, depth, columns;
    size_t choices;
  };
  for (const Case& test : {Case{"bf16", 130, 160, 140, 2},  // tensor cores: two sizes of tiles
                           Case{"bf16", 40, 600, 72, 3},    // one size, and parts of the depth
                           Case{"f32", 70, 300, 130, 4},    // threads: three sizes, parts
                           Case{"f32", 9, 30, 12, 1}}) {    // so small that there is one way
    CAPTURE(test.type, test.rows);
    const std::string text = DotText(test.type, test.rows, test.depth, test.columns);
    const auto module = ModuleOfDot(text);
    const auto plan = EmitInstruction(*module->entry()->root(), OnManyProcessors());
    REQUIRE(plan.ok());
    CHECK(std::max<size_t>(plan->choices.size(), 1) == test.choices);
    std::vector<Literal> arguments;
    for (const Instruction* parameter : module->entry()->parameters()) {
      Literal& values = arguments.emplace_back(parameter->shape());
      for (int64_t i = 0; i < values.element_count(); ++i) values.SetInt(i, i * 7 % 13 - 6);
    }
    Evaluator evaluator{EvalOptions()};
    const auto expected = evaluator.Run(*module, arguments);
    REQUIRE(expected.ok());
    for (int choice = 0; choice < static_cast<int>(plan->choices.size()); ++choice) {
      CAPTURE(plan->choices[static_cast<size_t>(choice)]);
      Told tuner(choice);
      const auto result = RunWith(tuner, ModuleOfDot(text), arguments);
      REQUIRE(result.ok());
      CHECK(*result == *expected);  // integers, and their sums, are exact
    }
  }
}

TEST_CASE("the fastest way is taken, and kept in a file", "[gpu][library]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string file = (*folder)->In("choices");
  const auto device = std::make_shared<RecordingDevice>();
  const auto module = ModuleOfDot(DotText("bf16", 40, 600, 72));
  const Instruction& dot = *module->entry()->root();
  const auto rule = EmitInstruction(dot, OnManyProcessors());
  REQUIRE(rule.ok());
  REQUIRE(rule->steps.size() == 2);  // parts of the depth, and their sum
  int compiled = 0;
  const auto chosen = [&] {
    const auto compile = [&](absl::Span<const UniqueKernel> kernels) {
      ++compiled;
      return absl::StatusOr<std::vector<DeviceCode>>(AsBitcode(kernels));
    };
    auto tuner = MakeKernelTuner(device, compile, file);
    REQUIRE(tuner.ok());
    const KernelPlan plan = (*tuner)->Fastest(dot, OnManyProcessors(), *rule);
    // The same again is not timed again.
    const int before = compiled;
    CHECK((*tuner)->Fastest(dot, OnManyProcessors(), *rule).kernels == plan.kernels);
    CHECK(compiled == before);
    return plan.steps.size();
  };
  CHECK(chosen() == 1);  // one launch takes less time than two there
  CHECK(compiled == static_cast<int>(rule->choices.size()));
  CHECK(device->live_allocations() == 0);
  // Another process times nothing.
  CHECK(chosen() == 1);
  CHECK(compiled == static_cast<int>(rule->choices.size()));
  const auto text = ReadFile(file);
  REQUIRE(text.ok());
  CHECK_THAT(*text, Catch::Matchers::Contains("own kernels\tdot(bf16[40,600], bf16[600,72])"));
  CHECK_THAT(*text, Catch::Matchers::Contains("\ttiles of 64, 1 parts\n"));
}

TEST_CASE("where nothing can be timed the plan stays", "[gpu][library]") {
  const auto device = std::make_shared<RecordingDevice>();
  const auto module = ModuleOfDot(DotText("bf16", 40, 600, 72));
  const Instruction& dot = *module->entry()->root();
  const auto rule = EmitInstruction(dot, OnManyProcessors());
  REQUIRE(rule.ok());
  const auto compile = [](absl::Span<const UniqueKernel> kernels) {
    return absl::StatusOr<std::vector<DeviceCode>>(AsBitcode(kernels));
  };
  const auto tuner = MakeKernelTuner(device, compile, "");
  REQUIRE(tuner.ok());
  device->FailNextAllocation();
  CHECK((*tuner)->Fastest(dot, OnManyProcessors(), *rule).kernels == rule->kernels);
  CHECK_FALSE(MakeKernelTuner(device, compile, "/").ok());
}

}  // namespace
}  // namespace hlo::gpu
