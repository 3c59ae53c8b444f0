// The harness of run_case.h.
#include "backends/gpu/run_case.h"

#include <cmath>
#include <cstring>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/nvptx/assembler.h"
#include "backends/gpu/nvptx/cubin.h"
#include "backends/gpu/nvptx/nvptx.h"
#include "lib/eval/evaluator.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

// Seeded values: floats of both signs around 1, integers of a small range.
Literal RandomValues(Shape shape, uint64_t seed, int64_t largest) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape element : shape.elements())
      elements.push_back(RandomValues(element, ++seed * 977, largest));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal(shape);
  const ElementType type = shape.element_type();
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) / static_cast<double>(uint64_t{1} << 53);
  };
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsComplex(type)) {
      literal.SetComplex(i, {4 * next() - 2, 4 * next() - 2});
    } else if (IsFloat(type)) {
      literal.SetDouble(i, 4 * next() - 2);
    } else {
      const auto number = static_cast<int64_t>(next() * static_cast<double>(largest));
      literal.SetInt(i, IsPred(type) ? number & 1 : IsSigned(type) ? number - largest / 3 : number);
    }
  }
  return literal;
}

void AppendArrays(const Literal& literal, std::vector<const Literal*>& arrays) {
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) AppendArrays(element, arrays);
  } else {
    arrays.push_back(&literal);
  }
}

bool IsNear(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return tolerance > 0 || std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= tolerance * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

bool IsNear(const Literal& a, const Literal& b, int64_t i, double tolerance) {
  const ElementType type = b.element_type();
  if (IsComplex(type)) {
    const auto x = a.GetComplex(i), y = b.GetComplex(i);
    return IsNear(x.real(), y.real(), tolerance) && IsNear(x.imag(), y.imag(), tolerance);
  }
  if (IsFloat(type)) return IsNear(a.GetDouble(i), b.GetDouble(i), tolerance);
  return a.GetInt(i) == b.GetInt(i);
}

std::string Difference(const Literal& actual, const Literal& expected, double tolerance) {
  std::vector<const Literal*> left, right;
  AppendArrays(actual, left);
  AppendArrays(expected, right);
  for (size_t leaf = 0; leaf < right.size(); ++leaf) {
    for (int64_t i = 0; i < right[leaf]->element_count(); ++i) {
      if (IsNear(*left[leaf], *right[leaf], i, tolerance)) continue;
      return fmt::format("result {} element {}: {} instead of {}", leaf, i,
                         left[leaf]->ElementAt(i).ToString(), right[leaf]->ElementAt(i).ToString());
    }
  }
  return "";
}

std::string TextOf(const absl::Status& status) { return Render(status, nullptr); }

// Whether ptxas takes the kernels without spills and warnings; "" where there is no ptxas.
std::string Assembles(const Module& module, bool run_passes) {
  if (!FindPtxas().ok()) return "";
  std::string ptx;
  CompileOptions options;
  options.run_passes = run_passes;
  options.emit = {EmitStage::kPtx};
  options.emit_sink = [&ptx](EmitStage, std::string_view part) { ptx += part; };
  auto executable = MakeGpuBackend()->Compile(module.Clone(), options);
  if (!executable.ok()) return TextOf(executable.status());
  if (ptx.find(".entry") == std::string::npos) return "";
  const absl::StatusOr<Assembled> assembled = AssembleByPtxas(ptx, kDefaultTarget);
  if (!assembled.ok()) return TextOf(assembled.status());
  if (!assembled->warnings.empty()) return assembled->warnings;
  const auto kernels = ReadCubin(assembled->cubin);
  if (!kernels.ok()) return TextOf(kernels.status());
  for (const KernelResources& kernel : *kernels) {
    if (kernel.local_accesses > 0)
      return fmt::format("kernel {} has {} accesses of local memory", kernel.name,
                         kernel.local_accesses);
  }
  return "";
}

}  // namespace

std::string RunGpuCase(const GpuCase& test) {
  auto parsed = ParseModule(test.hlo);
  if (!parsed.ok()) return TextOf(parsed.status());
  const std::unique_ptr<Module> module = *std::move(parsed);
  std::vector<Literal> arguments = test.arguments;
  for (int i = static_cast<int>(arguments.size()); i < module->entry()->parameter_count(); ++i) {
    arguments.push_back(RandomValues(module->entry()->parameter(i)->shape(),
                                     static_cast<uint64_t>(i) + 1, test.largest_integer));
  }
  Evaluator evaluator{EvalOptions()};
  const absl::StatusOr<Literal> expected = evaluator.Run(*module, arguments);
  if (!expected.ok()) return TextOf(expected.status());
  if (test.assemble) {
    if (const std::string problem = Assembles(*module, test.run_passes); !problem.empty())
      return problem;
  }
  Literal first;
  for (const int64_t seed : {0, 1, 2}) {
    CompileOptions options;
    options.run_passes = test.run_passes;
    options.gpu.sim_seed = seed;
    options.gpu.sim_sanitize = true;
    auto executable = MakeGpuSimBackend()->Compile(module->Clone(), options);
    if (!executable.ok()) return TextOf(executable.status());
    auto result = (*executable)->Run(arguments, {});
    if (!result.ok()) return fmt::format("seed {}: {}", seed, TextOf(result.status()));
    const std::string problem = Difference(*result, *expected, test.tolerance);
    if (!problem.empty()) return fmt::format("seed {}: {}", seed, problem);
    if (seed == 0) {
      first = *std::move(result);
    } else if (const std::string other = Difference(*result, first, 0); !other.empty()) {
      return fmt::format("seed {} is not seed 0: {}", seed, other);
    }
  }
  return "";
}

namespace {

std::string EmitText(std::string_view hlo, EmitStage stage, bool run_passes,
                     std::string_view target, bool merge = false) {
  auto parsed = ParseModule(hlo);
  if (!parsed.ok()) return TextOf(parsed.status());
  std::string text;
  CompileOptions options;
  options.run_passes = run_passes;
  options.gpu.target = target;
  options.gpu.merge_steps = merge;
  options.emit = {stage};
  options.emit_sink = [&text](EmitStage, std::string_view part) { text += part; };
  auto executable = MakeGpuSimBackend()->Compile(*std::move(parsed), options);
  return executable.ok() ? text : TextOf(executable.status());
}

}  // namespace

std::string ThunksOf(std::string_view hlo, bool run_passes, bool merge) {
  return EmitText(hlo, EmitStage::kThunks, run_passes, "", merge);
}

std::string KernelsOf(std::string_view hlo, bool run_passes) {
  return EmitText(hlo, EmitStage::kLlvm, run_passes, "");
}

int CountKernels(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  int count = 0;
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1))
    ++count;
  return count;
}

std::string PtxOf(std::string_view hlo, std::string_view target) {
  return EmitText(hlo, EmitStage::kPtx, false, target);
}

std::string RefusalOf(std::string_view hlo) {
  const Source source("test", std::string(hlo));
  auto parsed = ParseModule(hlo);
  if (!parsed.ok()) return TextOf(parsed.status());
  auto executable = MakeGpuSimBackend()->Compile(*std::move(parsed), {});
  return executable.ok() ? "" : Render(executable.status(), &source);
}

}  // namespace hlo::gpu
