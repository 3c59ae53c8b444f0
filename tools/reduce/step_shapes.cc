#include <algorithm>
#include <functional>

#include "lib/ir/any_instruction.h"
#include "lib/ops/shape_rules.h"
#include "tools/reduce/edits.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

// The new size of a dimension, by its old one.
using SizeMap = std::function<int64_t(int64_t)>;

Shape Resized(Shape shape, const SizeMap& map) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Resized(element, map));
    return Shape::Tuple(elements);
  }
  if (!shape.IsArray()) return shape;
  for (int i = 0; i < shape.rank(); ++i) shape = shape.WithDim(i, map(shape.dim(i)));
  return shape;
}

// The layouts of `like` where they fit.
Shape WithLayoutsOf(Shape shape, Shape like) {
  if (shape.IsTuple() && like.IsTuple() &&
      shape.element_count_of_tuple() == like.element_count_of_tuple()) {
    std::vector<Shape> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      elements.push_back(WithLayoutsOf(shape.element(i), like.element(i)));
    return Shape::Tuple(elements);
  }
  if (!shape.IsArray() || !like.IsArray() || shape.rank() != like.rank() || !like.has_layout())
    return shape;
  return shape.WithLayout(like.layout());
}

// One candidate: all shapes again, callees before callers, operands before users.
class Resizer {
 public:
  Resizer(Module& module, SizeMap map) : module_(module), map_(std::move(map)) {}

  bool Run() {
    for (Computation* computation : module_.PostOrder()) {
      for (Instruction* instruction : computation->PostOrder()) {
        if (!Resize(*instruction)) return false;
      }
    }
    module_.ResetEntryLayout();
    return changed_;
  }

 private:
  bool Resize(Instruction& instruction) {
    const Shape old = instruction.shape();
    ResizeAttributes(instruction);
    const std::optional<Shape> shape = NewShape(instruction);
    if (!shape) return false;
    instruction.set_shape(*shape);
    changed_ |= *shape != old;
    return true;
  }

  std::optional<Shape> NewShape(const Instruction& instruction) const {
    const Shape mapped = Resized(instruction.shape(), map_);
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kParameter || opcode == Opcode::kIota || opcode == Opcode::kRng)
      return mapped;
    if (opcode == Opcode::kConstant) return instruction.literal().shape();
    if (opcode == Opcode::kBroadcast) return BroadcastShape(instruction, mapped);
    if (opcode == Opcode::kReshape)
      return ReshapeShape(*instruction.operand(0), instruction.shape(), mapped);
    if (opcode == Opcode::kWhile) return instruction.operand(0)->shape();
    if (opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kConditional)
      return instruction.call(0)->root()->shape();
    std::vector<Signature> calls;
    for (const Computation* callee : instruction.calls()) calls.push_back(callee->signature());
    const std::vector<Shape> operands = instruction.operand_shapes();
    const absl::StatusOr<Shape> inferred = InferShape(
        ShapeArgs(instruction.opcode(), operands, instruction.attrs_ptr(), calls, mapped));
    if (!inferred.ok()) return std::nullopt;
    return WithLayoutsOf(*inferred, instruction.shape());
  }

  static Shape BroadcastShape(const Instruction& broadcast, Shape mapped) {
    const DimVec& dimensions = broadcast.attrs<BroadcastAttrs>().dimensions;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      mapped = mapped.WithDim(static_cast<int>(dimensions[i]),
                              broadcast.operand(0)->shape().dim(static_cast<int>(i)));
    }
    return mapped;
  }

  // The mapped dimensions; where they hold more or less than the operand, one of them gives way.
  static std::optional<Shape> ReshapeShape(const Instruction& operand, Shape old, Shape mapped) {
    const int64_t count = operand.shape().element_count();
    const int64_t now = mapped.element_count();
    if (now == count || now == 0) return mapped;
    for (const bool only_changed : {true, false}) {
      for (int i = 0; i < mapped.rank(); ++i) {
        if (only_changed && mapped.dim(i) == old.dim(i)) continue;
        const int64_t others = now / mapped.dim(i);
        if (count % others == 0) return mapped.WithDim(i, count / others);
      }
    }
    return std::nullopt;
  }

  // Sizes that attributes speak of.
  void ResizeAttributes(Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kConstant) {
      ResizeConstant(instruction);
    } else if (opcode == Opcode::kSlice) {
      ResizeSlice(instruction);
    } else if (opcode == Opcode::kDynamicSlice) {
      auto attrs = instruction.attrs<DynamicSliceAttrs>();
      ResizeWithin(attrs.dynamic_slice_sizes, instruction.operand(0)->shape());
      instruction.SetAttrs(std::move(attrs));
    } else if (opcode == Opcode::kGather) {
      auto attrs = instruction.attrs<GatherAttrs>();
      ResizeWithin(attrs.slice_sizes, instruction.operand(0)->shape());
      instruction.SetAttrs(std::move(attrs));
    } else if (opcode == Opcode::kConvolution) {
      auto attrs = instruction.attrs<ConvolutionAttrs>();
      const auto& spatial = attrs.dim_labels.kernel_spatial;
      for (size_t i = 0; i < attrs.window.dims.size() && i < spatial.size(); ++i) {
        attrs.window.dims[i].size =
            instruction.operand(1)->shape().dim(static_cast<int>(spatial[i]));
      }
      instruction.SetAttrs(std::move(attrs));
    } else if (opcode == Opcode::kReduceWindow) {
      auto attrs = instruction.attrs<ReduceWindowAttrs>();
      for (WindowDim& dim : attrs.window.dims) dim.size = map_(dim.size);
      instruction.SetAttrs(std::move(attrs));
    } else if (opcode == Opcode::kFft) {
      auto attrs = instruction.attrs<FftAttrs>();
      for (int64_t& length : attrs.fft_length) length = map_(length);
      instruction.SetAttrs(std::move(attrs));
    } else if (opcode == Opcode::kTopK) {
      auto attrs = instruction.attrs<TopKAttrs>();
      attrs.k = map_(attrs.k);
      instruction.SetAttrs(std::move(attrs));
    }
  }

  void ResizeConstant(Instruction& constant) const {
    const Shape mapped = Resized(constant.shape(), map_);
    if (mapped == constant.shape() || constant.literal().is_elided()) return;
    const DimVec starts(mapped.dims().size(), 0), strides(mapped.dims().size(), 1);
    for (int i = 0; i < mapped.rank(); ++i) {
      if (mapped.dim(i) > constant.shape().dim(i)) return;
    }
    constant.SetAttrs(ConstantAttrs{
        constant.literal().Slice(starts, mapped.dims(), strides).WithShapeLayout(mapped)});
  }

  void ResizeWithin(DimVec& sizes, Shape operand) const {
    for (size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = std::min(map_(sizes[i]), operand.dim(static_cast<int>(i)));
  }

  void ResizeSlice(Instruction& slice) const {
    auto attrs = slice.attrs<SliceAttrs>();
    for (size_t i = 0; i < attrs.slice.size(); ++i) {
      SliceRange& range = attrs.slice[i];
      const int64_t size = slice.operand(0)->shape().dim(static_cast<int>(i));
      const int64_t length = map_(range.limit - range.start);
      range.start = std::min(range.start, std::max<int64_t>(size - length, 0));
      range.limit = std::min(range.start + length, size);
    }
    slice.SetAttrs(std::move(attrs));
  }

  Module& module_;
  SizeMap map_;
  bool changed_ = false;
};

// Sizes above one, largest first.
std::vector<int64_t> Sizes(const Module& module) {
  std::set<int64_t, std::greater<>> sizes;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      ForEachLeaf(instruction->shape(), [&](Shape leaf, const ShapeIndex&) {
        if (!leaf.IsArray()) return;
        for (const int64_t size : leaf.dims()) {
          if (size > 1) sizes.insert(size);
        }
      });
    }
  }
  return {sizes.begin(), sizes.end()};
}

// Arrays of one element become scalars; that goes where nothing speaks of dimensions.
bool MakeScalars(Module& module) {
  bool changed = false;
  for (Instruction* instruction : AllInstructions(module)) {
    const Shape shape = instruction->shape();
    if (!shape.IsArray() || shape.rank() == 0 || !shape.IsEffectiveScalar()) continue;
    if (!IsElementwise(instruction->opcode()) && !instruction->IsConstant() &&
        instruction->opcode() != Opcode::kParameter)
      return false;
    const Shape scalar = Shape::Scalar(shape.element_type());
    if (instruction->IsConstant())
      instruction->SetAttrs(ConstantAttrs{instruction->literal().Reshaped(scalar)});
    instruction->set_shape(scalar);
    changed = true;
  }
  // Tuples follow their elements.
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kTuple)
        instruction->set_shape(Shape::Tuple(instruction->operand_shapes()));
    }
  }
  return changed;
}

}  // namespace

bool ShrinkShapes(Reducer& reducer) {
  reducer.set_step("shapes");
  bool improved = false;
  const auto attempt = [&](const SizeMap& map) {
    const bool good = reducer.Try([&](Module& module) { return Resizer(module, map).Run(); });
    improved |= good;
    return good;
  };
  for (const int64_t most : {1, 2, 4}) {
    if (attempt([most](int64_t size) { return std::min(size, most); })) break;
  }
  for (const int64_t from : Sizes(reducer.best())) {
    if (reducer.is_done()) break;
    bool done = false;
    for (const int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, from / 4, from / 2, from - 1}) {
      if (done || to < 1 || to >= from) continue;
      done = attempt([=](int64_t size) { return size == from ? to : size; }) ||
             attempt([=](int64_t size) { return size % from == 0 ? size / from * to : size; });
    }
  }
  improved |= reducer.Try(MakeScalars);
  return improved;
}

}  // namespace hlo
