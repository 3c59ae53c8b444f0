// Custom calls whose meaning is fixed by the compiler: annotations, TopK, dynamic-shape helpers,
// halves of 64-bit numbers, scaled products; linear algebra (lib/linalg), and what a library
// computes. All others are refused by name.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/eval/custom_calls.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/ffi_library.h"
#include "lib/eval/library_targets.h"
#include "lib/eval/topk.h"
#include "lib/linalg/call.h"
#include "lib/linalg/targets.h"

namespace hlo {

namespace {

constexpr std::string_view kIdentities[] = {"Sharding",
                                            "SPMDFullToShardShape",
                                            "SPMDShardToFullShape",
                                            "LocalToGlobalShape",
                                            "GlobalToLocalShape",
                                            "MoveToHost",
                                            "MoveToDevice",
                                            "PinToDevice",
                                            "PinToDeviceSram",
                                            "LayoutConstraint",
                                            "Pin",
                                            "Unpin",
                                            "SetBound",
                                            "AssumeGatherIndicesInBound",
                                            "annotate_device_placement"};

// (data, size of each dimension): dimensions are padded to their bounds.
Literal PadToStatic(const Literal& data, Shape bounds) {
  std::vector<Literal> parts = {Resized(data, bounds.dims())};
  for (int64_t size : data.shape().dims())
    parts.push_back(Literal::Scalar<int64_t>(ElementType::kS32, size));
  return Literal::Tuple(std::move(parts));
}

// Whether the value is all of what a device would have under this shape.
bool IsHandedOn(const Literal& operand, Shape shape) {
  return !operand.shape().IsArray() || !shape.IsArray() ||
         operand.element_count() == shape.element_count() || shape.has_dynamic_dims();
}

EvalResult EvalAnnotation(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  // Markers of Shardy take several values and give the tuple of them.
  const bool is_of_several = shape.IsTuple() && !c.operand(0).shape().IsTuple() &&
                             shape.element_count_of_tuple() == c.operand_count();
  for (int i = 0; i < (is_of_several ? c.operand_count() : 1); ++i) {
    const Shape declared = is_of_several ? shape.element(i) : shape;
    if (IsHandedOn(c.operand(i), declared)) continue;
    return Unsupported(
        c.loc(), "custom call `{}` from `{}` to `{}` needs the other devices: `hlo-run --spmd`",
        c.attrs<CustomCallAttrs>().custom_call_target, c.operand(i).shape(), declared);
  }
  if (!is_of_several) return EvalIdentity(c);
  return Literal::Tuple(std::move(c.operands));
}

EvalResult EvalTopKCall(EvalContext& c) {
  const std::string_view target = c.attrs<CustomCallAttrs>().custom_call_target;
  const Shape shape = c.instruction.shape(), operand = c.operand(0).shape();
  if (!shape.IsTuple() || shape.element_count_of_tuple() != 2)
    return Error(c.loc(), "custom call `{}` yields values and places, not `{}`", target, shape);
  const Shape values = shape.element(0);
  if (!operand.IsArray() || !values.IsArray() || operand.rank() == 0 ||
      operand.rank() != values.rank() ||
      values.dim(values.rank() - 1) > operand.dim(operand.rank() - 1))
    return Error(c.loc(), "custom call `{}` yields the last dimension of `{}` cut, not `{}`",
                 target, operand, values);
  return TopKOf(c.operand(0), values.dim(values.rank() - 1), TakesLargest(c.instruction));
}

EvalResult EvalCallMarker(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  const int count = c.instruction.operand_count();
  if (count == 1 && Compatible(c.operand(0).shape(), shape)) return c.operand(0);
  std::vector<Literal> elements;
  for (int i = 0; i < count; ++i) elements.push_back(c.operand(i));
  return Literal::Tuple(std::move(elements));
}

EvalResult EvalRngSeed(EvalContext& c) {
  return Literal::Scalar<int64_t>(ElementType::kU64,
                                  static_cast<int64_t>(c.evaluator.options().seed));
}

EvalResult EvalBufferCall(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  return Literal(shape.IsBuffer() ? shape.element(0) : shape);
}

EvalResult EvalPadToStatic(EvalContext& c) {
  const Shape shape = c.instruction.shape(), data = c.operand(0).shape();
  if (!shape.IsTuple() || shape.element_count_of_tuple() == 0 || !shape.element(0).IsArray())
    return Error(c.loc(), "custom call `PadToStatic` yields an array and its sizes, not `{}`",
                 shape);
  if (!data.IsArray() || data.rank() != shape.element(0).rank())
    return Error(c.loc(), "custom call `PadToStatic` makes an array whole, not `{}` of `{}`",
                 shape.element(0), data);
  return PadToStatic(c.operand(0), c.instruction.shape().element(0));
}

EvalResult EvalSliceToDynamic(EvalContext& c) {
  if (!c.operand(0).shape().IsArray())
    return Error(c.loc(), "custom call `SliceToDynamic` cuts an array, not `{}`",
                 c.operand(0).shape());
  DimVec dims = Dims(c.operand(0));
  for (int i = 1; i < c.operand_count(); ++i) {
    const Shape size = c.operand(i).shape();
    if (!size.IsScalar() || !IsInteger(size.element_type()))
      return Error(c.loc(), "custom call `SliceToDynamic` takes sizes, not `{}`", size);
  }
  for (size_t d = 0; d < dims.size() && static_cast<int>(d) + 1 < c.operand_count(); ++d) {
    dims[d] = std::clamp<int64_t>(ScalarIndex(c.operand(static_cast<int>(d) + 1)), 0, dims[d]);
  }
  return Resized(c.operand(0), dims);
}

// What the configuration says is wrong when the operand does not hold.
EvalResult EvalAssert(EvalContext& c) {
  if (!c.operand(0).shape().IsScalarOf(ElementType::kPred))
    return Error(c.loc(), "custom call `__xla__assert` takes a `pred[]`, not `{}`",
                 c.operand(0).shape());
  if (c.operand(0).GetInt() == 0) {
    const std::string_view message = c.instruction.backend_config();
    return Error(c.loc(), "`{}` does not hold: {}", c.instruction.operand(0)->name(),
                 message.empty() ? "a custom call `__xla__assert` asked for it" : message);
  }
  return c.instruction.shape().IsTuple() ? Literal::Tuple({}) : Literal::Token();
}

// Which half of 64 bits a word of 32 is, counted in words.
constexpr int64_t kLow = 0, kHigh = 1;

// Each word of `narrow` to or from half of a number of `wide`.
template <class Copy>
void ForEachHalf(const Literal& narrow, int64_t half, const Copy& copy) {
  for (int64_t i = 0; i < narrow.element_count(); ++i) copy(i, 2 * i + half);
}

absl::Status CheckHalves(const EvalContext& c, Shape wide, Shape narrow) {
  if (wide.IsArray() && narrow.IsArray() && wide.dims() == narrow.dims() &&
      IsInteger(wide.element_type()) && BitWidth(wide.element_type()) == 64 &&
      IsInteger(narrow.element_type()) && BitWidth(narrow.element_type()) == 32)
    return absl::OkStatus();
  return Error(c.loc(),
               "custom call `{}` is about integers of 64 bits and their halves, not `{}` and `{}`",
               c.attrs<CustomCallAttrs>().custom_call_target, wide, narrow);
}

EvalResult EvalSplit(EvalContext& c, int64_t half) {
  RETURN_IF_ERROR(CheckHalves(c, c.operand(0).shape(), c.instruction.shape()));
  Literal result(c.instruction.shape());
  const auto* from = reinterpret_cast<const uint32_t*>(c.operand(0).data());
  auto* to = reinterpret_cast<uint32_t*>(result.mutable_data());
  ForEachHalf(result, half, [&](int64_t narrow, int64_t wide) { to[narrow] = from[wide]; });
  return result;
}
EvalResult EvalSplitLow(EvalContext& c) { return EvalSplit(c, kLow); }
EvalResult EvalSplitHigh(EvalContext& c) { return EvalSplit(c, kHigh); }

// (low, high)
EvalResult EvalCombine(EvalContext& c) {
  Literal result(c.instruction.shape());
  auto* to = reinterpret_cast<uint32_t*>(result.mutable_data());
  for (const int64_t half : {kLow, kHigh}) {
    const Literal& part = c.operand(static_cast<int>(half));
    RETURN_IF_ERROR(CheckHalves(c, result.shape(), part.shape()));
    const auto* from = reinterpret_cast<const uint32_t*>(part.data());
    ForEachHalf(part, half, [&](int64_t narrow, int64_t wide) { to[wide] = from[narrow]; });
  }
  return result;
}

// Targets but for annotations and linear algebra, sorted by name.
struct KnownTarget {
  std::string_view name;
  EvalFn evaluate;
  int least_operands;
  int most_operands;
  bool is_pure;  // depends on the operands alone
};
constexpr int kAnyNumber = 1 << 20;
constexpr KnownTarget kTargets[] = {
    {"AllocateBuffer", EvalBufferCall, 0, kAnyNumber, false},
    {"CreateBuffer", EvalBufferCall, 0, kAnyNumber, false},
    {"GetRngSeed", EvalRngSeed, 0, kAnyNumber, false},
    {"PadToStatic", EvalPadToStatic, 1, 1, true},
    {"SliceToDynamic", EvalSliceToDynamic, 1, kAnyNumber, true},
    {"TopK", EvalTopKCall, 1, 1, true},
    {"X64Combine", EvalCombine, 2, 2, true},
    {"X64SplitHigh", EvalSplitHigh, 1, 1, true},
    {"X64SplitLow", EvalSplitLow, 1, 1, true},
    {"__gpu$TopK", EvalTopKCall, 1, 1, true},
    {"__op$block_scaled_dot", EvalBlockScaledDot, 3, 5, true},
    {"__xla__assert", EvalAssert, 1, 1, false},
    {kCallEnds, EvalCallMarker, 0, kAnyNumber, true},
    {kCallBegins, EvalCallMarker, 0, kAnyNumber, true},
    {"mhlo.topk", EvalTopKCall, 1, 1, true},
};
const KnownTarget* FindTarget(std::string_view target) {
  for (const KnownTarget& known : kTargets) {
    if (known.name == target) return &known;
  }
  return nullptr;
}

// Calls of functions of the Python process that made the module.
constexpr std::string_view kPythonCallbacks[] = {"xla_python_cpu_callback",
                                                 "xla_python_gpu_callback",
                                                 "xla_ffi_python_cpu_callback",
                                                 "xla_ffi_python_gpu_callback",
                                                 "xla_ffi_partitioned_python_cpu_callback",
                                                 "xla_ffi_partitioned_python_gpu_callback"};

std::string KnownNames() {
  std::vector<std::string_view> names(std::begin(kIdentities), std::end(kIdentities));
  names.push_back("xla.sdy.*");
  for (const KnownTarget& known : kTargets) names.push_back(known.name);
  names.insert(names.end(), std::begin(kLibraryTargets), std::end(kLibraryTargets));
  for (const linalg::Target& target : linalg::Targets()) names.push_back(target.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool TakesLargest(const Instruction& call) {
  if (call.call_count() == 0) return true;
  const Instruction* root = call.call(0)->root();
  if (root->opcode() != Opcode::kCompare) return true;
  const ComparisonDirection direction = root->attrs<CompareAttrs>().direction;
  const bool is_greater =
      direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe;
  const bool in_order =
      root->operand(0)->opcode() != Opcode::kParameter || root->operand(0)->parameter_number() == 0;
  return is_greater == in_order;
}

bool IsIdentityCustomCall(std::string_view target) {
  for (std::string_view identity : kIdentities) {
    if (target == identity) return true;
  }
  return target.starts_with("xla.sdy.");
}

bool IsPureCustomCall(std::string_view target) {
  if (IsIdentityCustomCall(target) || linalg::IsLinalgTarget(target)) return true;
  const KnownTarget* known = FindTarget(target);
  return known != nullptr && known->is_pure;
}

bool IsKnownCustomCall(std::string_view target) {
  return IsPureCustomCall(target) || FindTarget(target) != nullptr || HasLoadedCustomCall(target);
}

absl::Status UnknownCustomCall(const Instruction& call) {
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  const bool is_python = std::find(std::begin(kPythonCallbacks), std::end(kPythonCallbacks),
                                   target) != std::end(kPythonCallbacks);
  if (is_python) {
    return Unsupported(call.loc(),
                       "custom call `{}` calls Python functions of the process that made the "
                       "module; it has no meaning outside of it; "
                       "`hlo-run --custom-call={}=zeros` goes on without it",
                       target, target);
  }
  return Unsupported(
      call.loc(),
      "there is no implementation of custom call `{}`; targets that run: {}; "
      "`hlo-run --custom-call={}=zeros` (or identity, or @LIBRARY) gives it a meaning",
      target, KnownNames(), target);
}

static EvalResult EvalKnownCustomCall(EvalContext& c) {
  const std::string_view target = c.attrs<CustomCallAttrs>().custom_call_target;
  if (HasLoadedCustomCall(target)) return RunLoadedCustomCall(c.instruction, c.operands);
  if (linalg::IsLinalgTarget(target)) return EvalLinalgCall(c);
  if (IsIdentityCustomCall(target)) {
    if (c.operand_count() >= 1) return EvalAnnotation(c);
    return Error(c.loc(), "custom call `{}` hands on its operand, but has none", target);
  }
  const KnownTarget* known = FindTarget(target);
  if (known == nullptr) return UnknownCustomCall(c.instruction);
  if (c.operand_count() < known->least_operands || c.operand_count() > known->most_operands) {
    return Error(c.loc(), "custom call `{}` takes at least {} operands, found {}", target,
                 known->least_operands, c.operand_count());
  }
  return known->evaluate(c);
}

// Whether a value of shape `now` may be one of `declared`, where that is dynamic: it may end before
// its bounds.
static bool FitsBounds(Shape now, Shape declared) {
  if (now.IsTuple() && declared.IsTuple() &&
      now.element_count_of_tuple() == declared.element_count_of_tuple()) {
    for (int i = 0; i < now.element_count_of_tuple(); ++i) {
      if (!FitsBounds(now.element(i), declared.element(i))) return false;
    }
    return true;
  }
  if (!now.IsArray() || !declared.IsArray() || !declared.has_dynamic_dims())
    return CompatibleIgnoringDynamic(now, declared);
  if (now.element_type() != declared.element_type() || now.rank() != declared.rank()) return false;
  for (int d = 0; d < now.rank(); ++d) {
    if (now.dim(d) > declared.dim(d) && declared.dim(d) != Shape::kUnbounded) return false;
  }
  return true;
}

EvalResult EvalCustomCall(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  ASSIGN_OR_RETURN(Literal result, EvalKnownCustomCall(c));
  if (FitsBounds(result.shape(), shape) || shape.IsBuffer()) return result;
  return Error(c.loc(), "custom call `{}` yields `{}`, not `{}`",
               c.attrs<CustomCallAttrs>().custom_call_target, result.shape(), shape);
}

}  // namespace hlo
