// The harness of kernel_test.h.
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/families/kernel_test.h"
#include "backends/cpu/library/host.h"
#include "backends/cpu/tile/emit_llvm.h"
#include "backends/cpu/tile/evaluator.h"
#include "backends/cpu/tile/verifier.h"
#include "backends/llvm/jit.h"
#include "lib/eval/evaluator.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo::cpu {
namespace {

Jit& TestJit() {
  static std::unique_ptr<Jit> jit = [] {
    const Host host = *DetectHost();
    JitOptions options;
    options.cpu = host.llvm_cpu();
    options.features = host.llvm_features();
    options.vector_bits = 8 * host.vector_bytes();
    return *Jit::Create(options);
  }();
  return *jit;
}

std::unique_ptr<CompiledCode> CompileKernel(const tile::Kernel& kernel, std::string& problem) {
  llvm::LLVMContext context;
  const auto module = TestJit().NewModule(context, "test");
  tile::EmitOptions options;
  options.has_f16c = DetectHost()->level >= IsaLevel::kAvx2;
  options.has_gathers = DetectHost()->level >= IsaLevel::kAvx512;
  auto function = tile::EmitLlvm(kernel, "kernel", options, *module);
  if (!function.ok()) {
    problem = std::string(function.status().message());
    return nullptr;
  }
  TestJit().SetUpFunction(**function);
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return nullptr;
  auto code = TestJit().Compile(*module);
  if (!code.ok()) {
    problem = std::string(code.status().message());
    return nullptr;
  }
  return *std::move(code);
}

void Leaves(const Literal& literal, std::vector<Literal>& leaves) {
  if (literal.shape().IsArray()) {
    leaves.push_back(literal);
    return;
  }
  for (const Literal& element : literal.elements()) Leaves(element, leaves);
}

bool Close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return tolerance > 0 || std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= tolerance * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

std::string Compare(const std::vector<Literal>& actual, const std::vector<Literal>& expected,
                    double tolerance) {
  for (size_t leaf = 0; leaf < expected.size(); ++leaf) {
    for (int64_t i = 0; i < expected[leaf].element_count(); ++i) {
      const ElementType type = expected[leaf].element_type();
      bool good;
      if (IsComplex(type)) {
        const auto a = actual[leaf].GetComplex(i), b = expected[leaf].GetComplex(i);
        good = Close(a.real(), b.real(), tolerance) && Close(a.imag(), b.imag(), tolerance);
      } else if (IsFloat(type)) {
        good = Close(actual[leaf].GetDouble(i), expected[leaf].GetDouble(i), tolerance);
      } else {
        good = actual[leaf].GetInt(i) == expected[leaf].GetInt(i);
      }
      if (!good) {
        return fmt::format("result {} element {}: {} instead of {}", leaf, i,
                           actual[leaf].ElementAt(i).ToString(),
                           expected[leaf].ElementAt(i).ToString());
      }
    }
  }
  return "";
}

// A run of the kernel over fresh result buffers.
template <class Run>
std::string RunOver(const tile::Kernel& kernel, const std::vector<Literal>& inputs,
                    const std::vector<Literal>& results, const BufferPairs& shared,
                    std::vector<Literal>& out, const Run& run) {
  std::vector<std::vector<uint8_t>> memory;
  std::vector<void*> buffers;
  const auto add = [&](const Literal& literal, bool fill) {
    memory.emplace_back(static_cast<size_t>(literal.byte_size()) + 128, uint8_t{0xcd});
    auto* at = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.back().data()) + 63) /
                                          64 * 64);
    if (fill && literal.byte_size() > 0)
      std::memcpy(at, literal.data(), static_cast<size_t>(literal.byte_size()));
    buffers.push_back(at);
  };
  for (const Literal& input : inputs) add(input, true);
  for (const Literal& result : results) add(result, false);
  for (const BufferPair& pair : shared) {
    void*& result = buffers[inputs.size() + static_cast<size_t>(pair.result)];
    const Literal& operand = inputs[static_cast<size_t>(pair.operand)];
    std::memcpy(result, operand.data(), static_cast<size_t>(operand.byte_size()));
    buffers[static_cast<size_t>(pair.operand)] = result;
  }
  std::vector<uint8_t> scratch(static_cast<size_t>(kernel.scratch_bytes) + 128);
  void* const aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const std::string problem = run(buffers, aligned);
  if (!problem.empty()) return problem;
  out.clear();
  for (size_t i = 0; i < results.size(); ++i) {
    Literal literal(results[i].shape());
    const auto size = static_cast<size_t>(literal.byte_size());
    auto* const from = static_cast<uint8_t*>(buffers[inputs.size() + i]);
    if (size > 0) std::memcpy(literal.mutable_data(), from, size);
    for (size_t k = size; k < size + 32; ++k) {
      if (from[k] != 0xcd) return fmt::format("result {} is written beyond its end", i);
    }
    out.push_back(std::move(literal));
  }
  return "";
}

}  // namespace

Literal RandomLiteral(Shape shape, uint64_t seed, int64_t largest_integer) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements())
      elements.push_back(RandomLiteral(element, ++seed * 77, largest_integer));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal(shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 33;
  };
  const auto real = [&] { return (static_cast<double>(next() % 200001) - 100000) / 25000.0; };
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsFloat(shape.element_type())) {
      literal.SetDouble(i, real());
    } else if (IsComplex(shape.element_type())) {
      const double re = real();
      literal.SetComplex(i, {re, real()});
    } else if (IsPred(shape.element_type())) {
      literal.SetInt(i, static_cast<int64_t>(next() % 2));
    } else {
      const int64_t low = IsSigned(shape.element_type()) ? -largest_integer : 0;
      literal.SetInt(
          i, low + static_cast<int64_t>(next() % static_cast<uint64_t>(largest_integer - low + 1)));
    }
  }
  return literal;
}

std::string KernelText(std::string_view hlo, const FamilyOptions& options) {
  auto module = ParseModule(hlo);
  if (!module.ok()) return std::string(module.status().message());
  auto plan = EmitFusion(*(*module)->entry()->root(), options);
  if (!plan.ok()) return std::string(plan.status().message());
  return plan->kernel.ToString();
}

std::string KernelAssembly(std::string_view hlo, std::string_view cpu, int vector_bytes) {
  auto parsed = ParseModule(hlo);
  if (!parsed.ok()) return std::string(parsed.status().message());
  FamilyOptions options;
  options.vector_bytes = vector_bytes;
  auto plan = EmitFusion(*(*parsed)->entry()->root(), options);
  if (!plan.ok()) return std::string(plan.status().message());
  JitOptions jit_options;
  jit_options.cpu = std::string(cpu);
  jit_options.vector_bits = 8 * vector_bytes;
  auto jit = Jit::Create(jit_options);
  if (!jit.ok()) return std::string(jit.status().message());
  llvm::LLVMContext context;
  const auto module = (*jit)->NewModule(context, "test");
  tile::EmitOptions emit;
  emit.has_f16c = vector_bytes >= 32;
  emit.has_gathers = vector_bytes >= 64;
  auto function = tile::EmitLlvm(plan->kernel, "kernel", emit, *module);
  if (!function.ok()) return std::string(function.status().message());
  (*jit)->SetUpFunction(**function);
  auto assembly = (*jit)->EmitAssembly(*module);
  return assembly.ok() ? *assembly : std::string(assembly.status().message());
}

std::string RunKernelCase(const KernelCase& test) {
  auto parsed = ParseModule(test.hlo);
  if (!parsed.ok()) return std::string(parsed.status().message());
  const Module& module = **parsed;
  const Instruction& root = *module.entry()->root();
  std::vector<Literal> arguments = test.arguments;
  for (size_t i = arguments.size(); i < module.entry()->parameters().size(); ++i) {
    arguments.push_back(
        RandomLiteral(module.entry()->parameter(static_cast<int>(i))->shape(), i + 1));
  }
  Evaluator evaluator;
  std::vector<Literal> operands, inputs, expected;
  for (const Instruction* operand : root.operands()) {
    if (operand->opcode() == Opcode::kParameter) {
      operands.push_back(arguments[static_cast<size_t>(operand->parameter_number())]);
    } else {
      auto value = evaluator.EvaluateInstruction(*operand, {});
      if (!value.ok()) return std::string(value.status().message());
      operands.push_back(*value);
    }
  }
  auto reference = evaluator.EvaluateInstruction(root, operands);
  if (!reference.ok()) return "interpreter: " + std::string(reference.status().message());
  for (const Literal& operand : operands) Leaves(operand, inputs);
  Leaves(*reference, expected);

  auto plan = EmitFusion(root, test.options);
  if (!plan.ok()) return "emission: " + std::string(plan.status().message());
  const std::string text = plan->kernel.ToString();
  if (const absl::Status status = tile::Verify(plan->kernel); !status.ok()) {
    return std::string(status.message()) + "\n" + text;
  }
  std::string problem;
  const std::unique_ptr<CompiledCode> code = CompileKernel(plan->kernel, problem);
  if (code == nullptr) return problem + "\n" + text;
  auto* const kernel = code->Function<tile::KernelFunction>("kernel");

  std::vector<Literal> whole, split, interpreted;
  const BufferPairs& shared = test.options.shared;
  problem = RunOver(plan->kernel, inputs, expected, shared, whole,
                    [&](std::vector<void*>& buffers, void* scratch) {
                      kernel(buffers.data(), 0, plan->task_count, scratch);
                      return std::string();
                    });
  if (problem.empty()) problem = Compare(whole, expected, test.tolerance);
  if (!problem.empty()) return "compiled: " + problem + "\n" + text;
  problem = RunOver(plan->kernel, inputs, expected, shared, split,
                    [&](std::vector<void*>& buffers, void* scratch) {
                      for (int64_t task = plan->task_count; task-- > 0;)
                        kernel(buffers.data(), task, task + 1, scratch);
                      return std::string();
                    });
  if (problem.empty()) problem = Compare(split, whole, 0);
  if (!problem.empty()) return "task by task: " + problem + "\n" + text;
  problem = RunOver(
      plan->kernel, inputs, expected, shared, interpreted,
      [&](std::vector<void*>& buffers, void* scratch) {
        const absl::StatusOr<tile::Evaluation> evaluation = tile::Evaluation::Make(plan->kernel);
        if (!evaluation.ok()) return std::string(evaluation.status().message());
        tile::Watch watch(plan->kernel, buffers.data(), scratch);
        evaluation->Run(buffers.data(), 0, plan->task_count, scratch, watch);
        if (!watch.fault()) return std::string();
        return fmt::format("node {} touches element {}", watch.fault()->node, watch.fault()->index);
      });
  if (problem.empty()) problem = Compare(interpreted, whole, 0);
  if (!problem.empty()) return "tile evaluator: " + problem + "\n" + text;
  return "";
}

}  // namespace hlo::cpu
