#include "lib/analysis/operations.h"

#include <algorithm>
#include <cmath>

#include "lib/support/contains.h"

namespace hlo {
namespace {

double ElementsOf(Shape shape) {
  return static_cast<double>((shape.IsTuple() ? shape.element(0) : shape).element_count());
}

double SizeOf(const Instruction& x, int64_t dim) {
  return static_cast<double>(x.shape().dim(static_cast<int>(dim)));
}

double WindowSize(const Window& window) {
  double size = 1;
  for (const WindowDim& dim : window.dims) size *= static_cast<double>(dim.size);
  return size;
}

// ---- how often computations are applied: `call` says which of them ----

double TimesOnce(const Instruction&, int) { return 1; }

double TimesOfMap(const Instruction& x, int) { return ElementsOf(x.shape()); }

double TimesOfReduce(const Instruction& x, int) {
  return std::max(0.0, ElementsOf(x.operand(0)->shape()) - ElementsOf(x.shape()));
}

double TimesOfReduceWindow(const Instruction& x, int) {
  return ElementsOf(x.shape()) * (WindowSize(x.attrs<ReduceWindowAttrs>().window) - 1);
}

double TimesOfScatter(const Instruction& x, int) {
  return ElementsOf(x.operand(x.operand_count() / 2 + 1)->shape());
}

// The first computation selects one of each window, the second adds it.
double TimesOfSelectAndScatter(const Instruction& x, int call) {
  const double windows = ElementsOf(x.operand(1)->shape());
  if (call > 0) return windows;
  return windows * (WindowSize(x.attrs<SelectAndScatterAttrs>().window) - 1);
}

double TimesOfSort(const Instruction& x, int) {
  const Instruction& keys = *x.operand(0);
  const double row = SizeOf(keys, x.attrs<SortAttrs>().dimensions.value);
  return row < 2 ? 0 : ElementsOf(keys.shape()) * std::ceil(std::log2(row));
}

double TimesOfCollective(const Instruction& x, int) {
  double elements = 0;
  for (const Instruction* operand : x.operands()) elements += ElementsOf(operand->shape());
  return elements;
}

struct ApplyingRule {
  Opcode opcode;
  double (*times)(const Instruction& x, int call);
};
constexpr ApplyingRule kApplying[] = {
    {Opcode::kAllReduce, TimesOfCollective},
    {Opcode::kAllReduceStart, TimesOfCollective},
    {Opcode::kFusion, TimesOnce},
    {Opcode::kMap, TimesOfMap},
    {Opcode::kReduce, TimesOfReduce},
    {Opcode::kReduceScatter, TimesOfCollective},
    {Opcode::kReduceWindow, TimesOfReduceWindow},
    {Opcode::kScatter, TimesOfScatter},
    {Opcode::kSelectAndScatter, TimesOfSelectAndScatter},
    {Opcode::kSort, TimesOfSort},
};

// ---- operations by themselves ----

double FlopsOfDot(const Instruction& x) {
  return DotFlops(x.attrs<DotAttrs>(), x.operand(0)->shape(), x.shape());
}

// Each row meets one group; groups along what is contracted share it.
double RaggedDotFlops(const Instruction& x) {
  const auto& attrs = x.attrs<RaggedDotAttrs>();
  double contracted = 1;
  for (const int64_t d : attrs.lhs_contracting_dims) {
    contracted *= SizeOf(*x.operand(0), d);
    if (Contains(attrs.lhs_ragged_dims, d))
      contracted /= std::max(1.0, ElementsOf(x.operand(2)->shape()));
  }
  return 2 * ElementsOf(x.shape()) * contracted;
}

// How many pairs of a window position and an element of the window fall on one of the `size`
// elements of a dimension, of all `positions`; beyond so many pairs they are not looked at.
double PairsOnElements(const WindowDim& dim, int64_t size, int64_t positions) {
  constexpr double kMostLookedAt = 1 << 16;
  const double all = static_cast<double>(dim.size) * static_cast<double>(positions);
  if (all > kMostLookedAt) return all;
  int64_t pairs = 0;
  for (int64_t k = 0; k < dim.size; ++k) {
    for (int64_t position = 0; position < positions; ++position) {
      const int64_t at = position * dim.stride + k * dim.window_dilation - dim.pad_low;
      if (at >= 0 && at % dim.base_dilation == 0 && at / dim.base_dilation < size) ++pairs;
    }
  }
  return static_cast<double>(pairs);
}

double ConvolutionFlops(const Instruction& x) {
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& dims = attrs.dim_labels;
  double products = SizeOf(x, dims.output_batch) * SizeOf(x, dims.output_feature) *
                    SizeOf(*x.operand(1), dims.kernel_input_feature);
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const int64_t size = x.operand(0)->shape().dim(static_cast<int>(dims.input_spatial[i]));
    const int64_t positions = x.shape().dim(static_cast<int>(dims.output_spatial[i]));
    products *= PairsOnElements(attrs.window.dims[i], size, positions);
  }
  return 2 * products;
}

// 5 n log2(n) for a transform of n numbers, half of that where they are real.
double FftFlops(const Instruction& x) {
  const auto& attrs = x.attrs<FftAttrs>();
  double length = 1;
  for (const int64_t n : attrs.fft_length) length *= static_cast<double>(n);
  if (length < 2) return 0;
  const bool is_real = attrs.fft_type == FftType::kRfft || attrs.fft_type == FftType::kIrfft;
  const double numbers =
      std::max(ElementsOf(x.shape()), ElementsOf(x.operand(0)->shape())) * (is_real ? 0.5 : 1);
  return 5 * numbers * std::log2(length);
}

// n^3 / 3 of each matrix.
double CholeskyFlops(const Instruction& x) {
  return ElementsOf(x.shape()) * SizeOf(x, x.shape().rank() - 1) / 3;
}

// n^2 for each column of n.
double TriangularSolveFlops(const Instruction& x) {
  const Instruction& a = *x.operand(0);
  return ElementsOf(x.shape()) * SizeOf(a, a.shape().rank() - 1);
}

struct FlopsRule {
  Opcode opcode;
  double (*flops)(const Instruction& x);
};
constexpr FlopsRule kFlops[] = {
    {Opcode::kCholesky, CholeskyFlops},
    {Opcode::kConvolution, ConvolutionFlops},
    {Opcode::kDot, FlopsOfDot},
    {Opcode::kFft, FftFlops},
    {Opcode::kRaggedDot, RaggedDotFlops},
    {Opcode::kScaledDot, FlopsOfDot},
    {Opcode::kTriangularSolve, TriangularSolveFlops},
};

template <class Rule, size_t n>
const Rule* FindRule(const Rule (&rules)[n], Opcode opcode) {
  const Rule* const rule =
      std::find_if(rules, rules + n, [opcode](const Rule& r) { return r.opcode == opcode; });
  return rule == rules + n ? nullptr : rule;
}

}  // namespace

double DotFlops(const DotAttrs& attrs, Shape lhs, Shape result) {
  double flops = 2 * ElementsOf(result);
  for (const int64_t d : attrs.lhs_contracting_dims)
    flops *= static_cast<double>(lhs.dim(static_cast<int>(d)));
  return flops;
}

bool AppliesComputations(const Instruction& x) {
  return x.call_count() > 0 && FindRule(kApplying, x.opcode()) != nullptr;
}

Cost OperationsOf(const Instruction& x, absl::Span<const Cost> applied) {
  Cost cost;
  if (AppliesComputations(x)) {
    const ApplyingRule& rule = *FindRule(kApplying, x.opcode());
    for (int call = 0; call < x.call_count(); ++call) {
      const double times = rule.times(x, call);
      cost.flops += applied[static_cast<size_t>(call)].flops * times;
      cost.transcendentals += applied[static_cast<size_t>(call)].transcendentals * times;
    }
  } else if (const FlopsRule* rule = FindRule(kFlops, x.opcode()); rule != nullptr) {
    cost.flops = rule->flops(x);
  } else if (HasTrait(x.opcode(), kTranscendental)) {
    cost.transcendentals = ElementsOf(x.shape());
  } else if (HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0 &&
             x.opcode() != Opcode::kCopy) {
    cost.flops = ElementsOf(x.shape());
  }
  return cost;
}

}  // namespace hlo
