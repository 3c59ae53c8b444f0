// scan: a thread for each line of slices goes along the scanned dimension; the carries stay in
// registers. The computation works on slices, each element for itself.
#include <algorithm>

#include "backends/gpu/emit/core/frame.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

absl::Span<const int64_t> WithoutDim(absl::Span<const int64_t> dims, size_t d,
                                     absl::InlinedVector<int64_t, 6>& kept) {
  kept.assign(dims.begin(), dims.end());
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(d));
  return kept;
}

// Everything is elementwise on arrays of one shape, or scalar.
Decision WorksByElement(const Computation& computation, absl::Span<const int64_t> dims) {
  for (const Instruction* i : computation.instructions()) {
    if (i->opcode() == Opcode::kTuple && i->is_root()) continue;
    if (!i->shape().IsArray() || (i->shape().rank() != 0 && i->shape().dims() != dims))
      return No("`{}` in its computation is of {}", i->name(), i->shape());
    const bool is_given = i->opcode() == Opcode::kParameter ||
                          (i->opcode() == Opcode::kConstant && i->shape().rank() == 0);
    const bool spreads = i->opcode() == Opcode::kBroadcast && i->operand(0)->shape().rank() == 0;
    if (!is_given && !spreads && !IsFusibleElementwise(*i))
      return No("`{}` in its computation is more than elementwise", i->name());
  }
  return Yes();
}

// Whether the steps take and give the element types that are there, so that nothing is converted.
Decision IsOfOneWidth(const Instruction& scan) {
  const Computation& step = *scan.to_apply();
  for (int i = 0; i < scan.operand_count(); ++i) {
    const ElementType given = scan.operand(i)->shape().element_type();
    const ElementType taken = step.parameter(i)->shape().element_type();
    if (given != taken) return No("steps take `{}`, not `{}`", Text(taken), Text(given));
  }
  std::vector<ElementType> made, wanted;
  const auto types_of = [](Shape shape, std::vector<ElementType>& types) {
    ForEachLeaf(shape,
                [&](Shape leaf, const ShapeIndex&) { types.push_back(leaf.element_type()); });
  };
  types_of(step.root()->shape(), made);
  types_of(scan.shape(), wanted);
  return made == wanted ? Yes() : No("steps give other element types than the result has");
}

}  // namespace

Decision TakesScan(const Instruction& scan) {
  const ScanAttrs& attrs = scan.attrs<ScanAttrs>();
  if (attrs.num_carries >= scan.operand_count()) return No("it has no inputs");
  for (const Instruction* operand : scan.operands()) {
    if (!operand->shape().IsArray() || operand->shape().has_dynamic_dims())
      return No("operand `{}` is no static array", operand->name());
  }
  absl::InlinedVector<int64_t, 6> kept;
  const auto d = static_cast<size_t>(attrs.dimensions.value);
  const absl::Span<const int64_t> slice = WithoutDim(scan.operand(0)->shape().dims(), d, kept);
  // Carries are slices; a scalar one would be shared by all threads.
  const int64_t inputs = scan.operand_count() - attrs.num_carries;
  for (int64_t i = inputs; i < scan.operand_count(); ++i) {
    if (scan.operand(static_cast<int>(i))->shape().dims() != slice)
      return No("a carry is of {}", scan.operand(static_cast<int>(i))->shape());
  }
  if (const Decision same = IsOfOneWidth(scan); !same) return same;
  return WorksByElement(*scan.to_apply(), slice);
}

absl::Status EmitScan(const FamilyRequest& request) {
  const Instruction& scan = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "scan";
  const ScanAttrs& attrs = scan.attrs<ScanAttrs>();
  const auto d = static_cast<size_t>(attrs.dimensions.value);
  const Shape shape = scan.operand(0)->shape();
  const int carries = static_cast<int>(attrs.num_carries);
  const int inputs = scan.operand_count() - carries;
  const size_t stacked = frame.outputs.size() - static_cast<size_t>(carries);
  const int64_t length = shape.dims()[d];
  int64_t stride = 1, lines = 1;
  for (size_t i = 0; i < shape.dims().size(); ++i) {
    if (i > d) stride *= shape.dims()[i];
    if (i != d) lines *= shape.dims()[i];
  }
  if (lines == 0) return absl::OkStatus();
  return AddSimpleKernel(
      frame, lines, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
        llvm::Value* const thread =
            k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
        const auto step = [&](llvm::Value* i,
                              const EmittedList& state) -> absl::StatusOr<EmittedList> {
          llvm::Value* const t = attrs.is_reverse ? k.Sub(k.Index(length - 1), i) : i;
          llvm::Value* const line =
              k.Add(k.Scale(k.Div(thread, stride), length * stride), k.Rem(thread, stride));
          llvm::Value* const at = k.Add(line, k.Scale(t, stride));
          EmittedList arguments;
          for (int o = 0; o < inputs; ++o) arguments.push_back(k.Load(o, at));
          arguments.insert(arguments.end(), state.begin(), state.end());
          ASSIGN_OR_RETURN(const EmittedList values,
                           emitter.EmitRegion(*scan.to_apply(), arguments));
          for (size_t o = 0; o < stacked; ++o) k.Store(frame.outputs[o].buffer, at, values[o]);
          return EmittedList(values.begin() + static_cast<std::ptrdiff_t>(stacked), values.end());
        };
        return k.If(k.Less(thread, k.Index(lines)), [&]() -> absl::Status {
          EmittedList state;
          for (int o = 0; o < carries; ++o) state.push_back(k.Load(inputs + o, thread));
          ASSIGN_OR_RETURN(state, k.Loop(k.Index(0), k.Index(length), k.Index(1), state, step));
          for (size_t o = 0; o < state.size(); ++o)
            k.Store(frame.outputs[stacked + o].buffer, thread, state[o]);
          return absl::OkStatus();
        });
      });
}

}  // namespace hlo::gpu
